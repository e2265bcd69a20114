"""Many captures, analysed as one dataset by Dask. Needs the extra ``bdpcap[cluster]``."""
