"""Both ends of a path: two captures of the same connections, matched and compared.

`headers` reads what identifies a connection, `matching` finds it in both captures, `passages` puts its packets
together; `clocks`, `delays`, `losses`, `options` and `views` each say one thing of them; `pair` has all of it.
"""

from bdpcap.pairing.ends import Ends

__all__ = ["Ends"]
