-- Waits for blocks by event and file of the database.
SELECT event, file_number, sum(coalesce(sum_of, 1)) AS waits, sum(elapsed_ns) AS total_ns, sum(blocks) AS blocks
FROM 'waits.parquet'
WHERE file_number IS NOT NULL
GROUP BY event, file_number
ORDER BY total_ns DESC, event, file_number;
