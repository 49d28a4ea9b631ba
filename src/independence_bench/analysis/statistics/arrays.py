"""The arrays that these functions take and give."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]  # of subjects, scenarios or transcripts, from 0
