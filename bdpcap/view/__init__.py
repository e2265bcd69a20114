"""
The linked figures of a flow, zoomable down to single segments: in a browser by a server, and in a notebook.

They need the extra ``bdpcap[view]``.
"""
