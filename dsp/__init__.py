"""Signal processing of serial links: arrays in, arrays out; knows no medium.

The modules are the contents: `dsp.units`, `dsp.grid`, `dsp.constellation`, `dsp.sequences`, `dsp.response`, `dsp.filters`,
`dsp.noise`, `dsp.distribution`, `dsp.equalizer`, `dsp.clock`, `dsp.converter`, `dsp.detector`, `dsp.fec`. Import from them.
"""
