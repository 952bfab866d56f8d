-- Waits by event, the longest first.
SELECT event,
       count(*) AS waits,
       sum(elapsed_ns) AS total_ns,
       min(elapsed_ns) AS min_ns,
       max(elapsed_ns) AS max_ns,
       coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'inside'), 0) AS inside_ns,
       coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'between'), 0) AS between_ns
FROM 'waits.parquet'
GROUP BY event
ORDER BY total_ns DESC, event;
