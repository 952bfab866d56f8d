-- Statements by the time that sessions were at work on them, the longest first; executions and blocks as
-- pg_stat_statements counted them, where it did.
WITH sampled AS (
    SELECT statement_id, sum(looks) AS looks, sum(time_ns) AS total_ns,
           coalesce(sum(time_ns - queued_ns) FILTER (WHERE event = ''), 0) AS cpu_ns
    FROM 'readpath-*.parquet'
    WHERE record = 'sample' AND state = 'active' AND process = 'client backend'
    GROUP BY statement_id
), known AS (
    SELECT statement_id, max(text) AS text, sum(executions) AS executions, sum("rows") AS "rows", sum(hits) AS hits,
           sum(reads) AS reads
    FROM 'readpath-*.parquet'
    WHERE record = 'statement'
    GROUP BY statement_id
)
SELECT statement_id, coalesce(s.looks, 0) AS looks, coalesce(s.total_ns, 0) AS total_ns,
       coalesce(s.cpu_ns, 0) AS cpu_ns, k.executions, k."rows", k.hits, k.reads, k.text
FROM known k
LEFT JOIN sampled s USING (statement_id)
WHERE s.looks IS NOT NULL OR k.executions IS NOT NULL
ORDER BY total_ns DESC, statement_id;
