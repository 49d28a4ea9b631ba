"""Pure functions on numbers: no judge, subject or store is known here. One file for each question that is asked."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]  # of subjects, scenarios or transcripts, from 0
