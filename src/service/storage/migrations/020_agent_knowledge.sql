-- Knowledge bases whose tools an agent's turns get, by id; whether a user may read one is decided at each call.
alter table agent add column knowledge_bases text[] not null default '{}';
