"""What a session does to which data, heard from Spark itself: processes and datasets of ``bigdebug.datasets``, of every query, write, stream, model and RDD."""
