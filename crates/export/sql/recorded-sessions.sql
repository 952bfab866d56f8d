-- Sessions by the time that they were at work, the longest first.
SELECT pid, started, "user", "database", application,
       coalesce(sum(time_ns) FILTER (WHERE state = 'active'), 0) AS db_time_ns,
       coalesce(sum(time_ns) FILTER (WHERE state = 'idle in transaction'), 0) AS idle_in_transaction_ns,
       coalesce(sum(time_ns) FILTER (WHERE state = 'idle'), 0) AS idle_ns
FROM 'readpath-*.parquet'
WHERE record = 'sample' AND process = 'client backend'
GROUP BY pid, started, "user", "database", application
ORDER BY db_time_ns DESC, pid, started;
