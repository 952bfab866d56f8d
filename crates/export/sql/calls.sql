-- Calls by name and recursion, each without its recursive children.
SELECT "call", recursive,
       count(*) AS calls,
       sum("rows") AS "rows",
       sum(misses) AS misses,
       sum(own_cpu_ns) AS cpu_ns,
       sum(own_elapsed_ns) AS elapsed_ns,
       sum(own_physical_reads) AS physical_reads,
       sum(own_consistent_gets) AS consistent_gets,
       sum(own_current_gets) AS current_gets
FROM 'calls.parquet'
GROUP BY "call", recursive
ORDER BY "call", recursive;
