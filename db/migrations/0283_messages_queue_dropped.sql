-- Lanes are read instead, and what leaves as SMS at once by an index of its own (messages_forced).
drop index messages_queue;
