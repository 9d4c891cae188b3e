"""Linear programs of the bounds, built row by row and solved by HiGHS.

Callers scale amounts to around a thousand: HiGHS drops coefficients below 1e-9 and takes 1e-7 for nothing.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array


class Program:
    """Minimise one variable under rows `sum coefficient * variable (<= or =) constant`, all variables >= 0."""

    def __init__(self) -> None:
        self._variables = 0
        self._rows: dict[bool, list[tuple[list[int], list[float], float]]] = {True: [], False: []}

    def variable(self) -> int:
        self._variables += 1
        return self._variables - 1

    def equal(self, variables: list[int], coefficients: list[float], constant: float) -> None:
        self._rows[True].append((variables, coefficients, constant))

    def at_most(self, variables: list[int], coefficients: list[float], constant: float) -> None:
        self._rows[False].append((variables, coefficients, constant))

    def least(self, variable: int) -> float:
        """The smallest value the variable can take; inf when the rows contradict each other."""
        cost = np.zeros(self._variables)
        cost[variable] = 1.0
        equal, equal_to = self._matrix(True)
        most, at_most = self._matrix(False)
        answer = linprog(cost, A_ub=most, b_ub=at_most, A_eq=equal, b_eq=equal_to, method="highs")
        if answer.status == 2:
            return float("inf")
        if answer.status != 0:
            raise ArithmeticError(f"HiGHS could not solve a bound of {self._variables} variables: {answer.message}")
        return float(answer.x[variable])

    def _matrix(self, equal: bool) -> tuple[csr_array | None, np.ndarray | None]:
        rows = self._rows[equal]
        if not rows:
            return None, None
        start = np.concatenate([[0], np.cumsum([len(r[0]) for r in rows])])
        columns = np.concatenate([np.asarray(r[0], dtype=np.int64) for r in rows])
        values = np.concatenate([np.asarray(r[1], dtype=np.float64) for r in rows])
        matrix = csr_array((values, columns, start), shape=(len(rows), self._variables))
        return matrix, np.array([r[2] for r in rows])
