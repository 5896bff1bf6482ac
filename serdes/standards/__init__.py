"""Parameter sets of the standards as TOML, each value with its clause or the word estimate."""
