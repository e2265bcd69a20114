"""Both ends of a path: two captures of the same connections, matched and compared.

`headers` reads the fields that identify a connection, `matching` finds it in both captures, and `passages` pairs its
packets. `clocks`, `delays`, `losses`, `options` and `views` each measure one property. `bdpcap.pair` returns all of it.
"""

from bdpcap.pairing.ends import Ends

__all__ = ["Ends"]
