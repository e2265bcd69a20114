"""Many captures: Dask analyses them into one dataset, and DuckDB summarizes the dataset.

Dask needs the extra ``bdpcap[cluster]``, and DuckDB needs ``bdpcap[summary]``.
"""
