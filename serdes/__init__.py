"""A link, the engines that run it, and what they measure.

Start at `serdes.setups` (ready links by lane rate), `serdes.link` (your own), `serdes.simulate` (run one), `serdes.reach`
(how far it goes), `serdes.plot` (draw it). Import from the modules.
"""
