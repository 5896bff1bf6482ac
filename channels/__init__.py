"""The physics of the medium: networks, wires, files, crosstalk.

The modules are the contents: `channels.channel` (what every channel answers), `channels.network` (multi-ports and ``@``),
`channels.copper` and `channels.lines` (parts), `channels.catalog` (named parts), `channels.crosstalk`,
`channels.file_network` (Touchstone files). Import from them.
"""
