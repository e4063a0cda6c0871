"""Pure mathematics: arrays in, arrays out; no files, no Beam, no cloud."""
