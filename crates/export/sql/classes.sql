-- Waits by class, the longest first. Waits for the client stay in one class whatever their length.
SELECT class, sum(coalesce(sum_of, 1)) AS waits, sum(elapsed_ns) AS total_ns
FROM 'waits.parquet'
GROUP BY class
ORDER BY total_ns DESC, class;
