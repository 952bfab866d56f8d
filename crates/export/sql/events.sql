-- Waits by event, the longest first. Of a sum of waits no shortest and no longest one is known.
SELECT event,
       sum(coalesce(sum_of, 1)) AS waits,
       sum(elapsed_ns) AS total_ns,
       min(elapsed_ns) FILTER (WHERE sum_of IS NULL) AS min_ns,
       max(elapsed_ns) FILTER (WHERE sum_of IS NULL) AS max_ns,
       coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'inside'), 0) AS inside_ns,
       coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'between'), 0) AS between_ns
FROM 'waits.parquet'
GROUP BY event
ORDER BY total_ns DESC, event;
