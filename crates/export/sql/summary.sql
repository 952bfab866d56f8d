-- Where the time went, by session: cpu_ns and the columns after it add up to interval_ns. response_time_ns holds idle
-- waits and waits for the client too.
WITH call AS (
    SELECT session_number, sum(own_elapsed_ns) AS elapsed_ns, coalesce(sum(own_cpu_ns), 0) AS cpu_ns
    FROM 'calls.parquet'
    GROUP BY session_number
), wait AS (
    SELECT session_number,
           coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'inside'), 0) AS inside_ns,
           coalesce(sum(elapsed_ns) FILTER (WHERE placement = 'between'), 0) AS between_ns
    FROM 'waits.parquet'
    GROUP BY session_number
), session AS (
    SELECT s.session_number, s.session, s.interval_ns,
           coalesce(c.elapsed_ns, 0) AS elapsed_ns, coalesce(c.cpu_ns, 0) AS cpu_ns,
           coalesce(w.inside_ns, 0) AS inside_ns, coalesce(w.between_ns, 0) AS between_ns
    FROM 'sessions.parquet' s
    LEFT JOIN call c USING (session_number)
    LEFT JOIN wait w USING (session_number)
)
SELECT session_number, session, interval_ns,
       elapsed_ns + between_ns AS response_time_ns,
       cpu_ns,
       inside_ns + between_ns AS waits_ns,
       elapsed_ns - cpu_ns - inside_ns AS unaccounted_within_ns,
       interval_ns - elapsed_ns - between_ns AS unaccounted_between_ns
FROM session
ORDER BY session_number;
