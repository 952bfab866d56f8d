-- Statements by the time that they answer for themselves, and the waits after their calls; the longest first.
WITH call AS (
    SELECT statement, count(*) AS calls, sum(own_elapsed_ns) AS elapsed_ns, sum(own_cpu_ns) AS cpu_ns,
           sum(own_physical_reads) AS physical_reads,
           sum(own_consistent_gets) + sum(own_current_gets) AS logical_reads,
           sum("rows") AS "rows"
    FROM 'calls.parquet'
    GROUP BY statement
), wait AS (
    SELECT statement, sum(elapsed_ns) AS between_ns
    FROM 'waits.parquet'
    WHERE placement = 'between'
    GROUP BY statement
)
SELECT s.statement, s.statement_id,
       coalesce(c.calls, 0) AS calls,
       coalesce(c.elapsed_ns, 0) + coalesce(w.between_ns, 0) AS response_time_ns,
       c.cpu_ns,
       coalesce(c.physical_reads, 0) AS physical_reads,
       coalesce(c.logical_reads, 0) AS logical_reads,
       coalesce(c."rows", 0) AS "rows",
       s.text
FROM 'statements.parquet' s
LEFT JOIN call c USING (statement)
LEFT JOIN wait w USING (statement)
WHERE c.calls IS NOT NULL OR w.between_ns IS NOT NULL
ORDER BY response_time_ns DESC, s.statement;
