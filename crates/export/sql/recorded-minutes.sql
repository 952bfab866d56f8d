-- Sessions at work and on a processor by minute, on average. Rows of several seconds lie within a minute.
SELECT date_trunc('minute', moment) AS "minute",
       coalesce(sum(time_ns) FILTER (WHERE record = 'looks'), 0) AS sampled_ns,
       coalesce(sum(time_ns) FILTER (WHERE state = 'active' AND process = 'client backend'), 0) AS db_time_ns,
       coalesce(sum(time_ns - queued_ns)
                FILTER (WHERE state = 'active' AND process = 'client backend' AND event = ''), 0) AS cpu_ns,
       coalesce(sum(time_ns) FILTER (WHERE record = 'lost'), 0) AS lost_ns
FROM 'readpath-*.parquet'
GROUP BY "minute"
ORDER BY "minute";
