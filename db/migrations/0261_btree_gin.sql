-- For an index that begins with the workspace and ends with what is searched.
create extension if not exists btree_gin;
