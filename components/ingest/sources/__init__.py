"""From files of any form, datasets and the synthetic languages to batches of pairs."""
