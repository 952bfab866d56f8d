-- Time of sessions at work by what they waited for, the longest first. An empty event is a processor, or the wait for
-- one, whose part is queued_ns.
SELECT event, sum(looks) AS looks, sum(time_ns) AS total_ns, sum(queued_ns) AS queued_ns
FROM 'readpath-*.parquet'
WHERE record = 'sample' AND state = 'active' AND process = 'client backend'
GROUP BY event
ORDER BY total_ns DESC, event;
