"""The sessions of this machine at a glance: summaries kept in an index that is rebuilt when it is missing or wrong, the
projects they belong to, the trash. May use the chain, the kinds of records and the store."""
