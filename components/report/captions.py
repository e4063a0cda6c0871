"""What each figure shows and what to see in it, HTML."""

from __future__ import annotations

_UNSEEN = """
Hollow points were never shown to the fit; curves are dashed beyond the fitted sizes.
Zero-shot measurements (p = 0) belong to no law and are not drawn.
"""

PROOF = """
Left: each point is one measured {one} that no law was fitted to; on the diagonal the
prediction is exact. Right: the error of each prediction in percent of the measured
{one}; the bar is the 95 % interval in which a newly trained model was expected, so it
should cover zero. Sizes are predicted by the joint law ([M] eq. 7) where it knows the
mixture, mixtures by the approximate joint law (eq. 11).
"""

LOSS_BY_SIZE = f"""
Each curve is <i>L</i> =
β<sub>p</sub>·(<i>N</i>/<i>N</i><sub>0</sub>)<sup>−α<sub>p</sub> </sup> +
<i>L</i><sub>∞,p</sub>, fitted to one weighting alone ([M] eq. 6). See that every
weighting follows a power law and that the curves shift with p. {_UNSEEN}
"""

REDUCIBLE_LOSS = f"""
The {{modelled}} less the joint law's irreducible part <i>L</i><sub>∞</sub>, one
constant per task. See parallel straight lines: the exponent α does not depend on the
weighting. A point above its line at the right end has not converged. {_UNSEEN}
"""

COEFFICIENTS = """
Points and bands: each weighting's own fit ([M] eq. 6) ± one standard deviation.
Black: the joint fit (eq. 7), one dashed value of α and of <i>L</i><sub>∞</sub> per
task and one β (diamond) per weighting; <i>N</i><sub>0</sub> is a reference size
within the fitted ones. See that α and <i>L</i><sub>∞</sub> agree with the dashed line
within their spread while β falls with p. A weighting with no more sizes than
coefficients has no band.
"""

JOINT_LAW = f"""
<i>L</i> = β<sub>p</sub>·(<i>N</i>/<i>N</i><sub>0</sub>)<sup>−α</sup> +
<i>L</i><sub>∞</sub> ([M] eq. 7): only β depends on p. See that the curves still pass
through the points, with far fewer coefficients than one law per weighting. {_UNSEEN}
"""

EFFECTIVE_FRACTION = """
Left: <i>f</i>(p) = <i>N</i><sub>eff</sub>/<i>N</i>; points are each weighting's
fraction in the joint law ([M] eq. 10; they need trials at p = 1) with their
{percent:g} % interval, curves the fitted <i>f</i> of the approximate law (eq. 12 or
13) with its band (rings where it depends on the whole mixture), dashed beyond the
trained weights. The grey diagonal is neutral: a task of weight p has the capacity of
a model of p·<i>N</i>. Right: the same divided by p; above 1 a task has more capacity
than its share, below 1 less.
"""

FRONTIER = """
Each curve is what the approximate joint law ([M] eq. 11) predicts for the mixtures of
the two tasks at one size; {better} is better. Points are measured models, hollow
where the fit never saw them. See that they lie on the curve of their size, also where
held out. Dashed: a size that was not trained; star: the recommended mixture there.
"""

FRONTIER_OF_MANY = """
One panel per pair of tasks, colour by <i>N</i>. Points: measured mixtures, hollow
where the fit never saw them. Crosses: the approximate joint law ([M] eq. 11) at the
same mixture and size; a short line joins the two. Star: the recommended mixture, at
the size it is for.
"""

LEARNING_CURVES = """
Test loss during training, one row per task and one panel per size, colour by the
task's weight p. Shaded: the last doubling of steps. A dashed curve that ends in a
cross is a trial that failed. Zero-shot curves (p = 0) are not drawn.
"""

CONVERGENCE = """
Percent by which each trial's loss fell over the last doubling of its steps (negative:
it rose). A law holds for converged trials only: a rare task that was seen too few
times imitates an irreducible loss. Above {limit:g} % the cell is outlined and the
trial is named among the warnings. A dash is zero-shot or not trained; of several
seeds the largest movement is shown.
"""

QUALITY = """
Each large point is a trial at its end, colour by <i>N</i>; thin lines lead there
through its training, where translations were made along the way. Black: the better of
metric = c·<i>L</i><sup>−p</sup> ([N] eq. 13) and a line ([M] Fig. 8), fitted to the
ends of each half by original language, without held-out trials. See whether a lower
loss is a better translation, and on which half: [N] finds other curves on text that was
first written in the source language.
"""

IRREDUCIBLE_LOSS = """
Black bars: the true conditional entropy of the test set per target token, known
because the source generates it. Points: the fitted <i>L</i><sub>∞</sub> with its
{percent:g} % interval. No model can go below the truth; a fit above it says that
something else than the language, training or data, sets the floor.
"""
