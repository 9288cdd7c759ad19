internal import GRDB
public import Ubiquity

/// The tables of the journal.
public enum JournalSchema {
    /// Four tables that sync, and a search index that each device computes for itself.
    public static let schema = SyncedSchema(migrator: migrator) {
        SyncedTable("post", derived: ["post_search"])
        // Two devices that write one name mean one tag.
        SyncedTable("tag", unique: [["name"]])
        SyncedTable("post_tag")
        SyncedTable("attachment")
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(sql: tables)
            try db.execute(sql: index)
        }
        return migrator
    }

    /// The keys are UUIDs, which no two devices create.
    ///
    /// The position is text that sorts by its bytes. The data of an attachment is the last column, because SQLite reads
    /// through it to reach the columns behind it.
    private static let tables = """
        CREATE TABLE post (
            id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '', created DATETIME NOT NULL, position TEXT);
        CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE post_tag (
            post TEXT NOT NULL REFERENCES post ON DELETE CASCADE, tag TEXT NOT NULL REFERENCES tag ON DELETE CASCADE,
            PRIMARY KEY (post, tag));
        CREATE INDEX post_tag_tag ON post_tag (tag);
        CREATE TABLE attachment (
            id TEXT NOT NULL PRIMARY KEY, post TEXT NOT NULL REFERENCES post ON DELETE CASCADE, name TEXT NOT NULL,
            thumbnail TEXT NOT NULL DEFAULT '', data BLOB NOT NULL);
        CREATE INDEX attachment_post ON attachment (post);
        """

    /// The index never leaves the device.
    ///
    /// Imports run its triggers like every other change.
    private static let index = """
        CREATE VIRTUAL TABLE post_search USING fts5(title, body, content='post');
        CREATE TRIGGER post_search_insert AFTER INSERT ON post BEGIN
            INSERT INTO post_search (rowid, title, body) VALUES (new.rowid, new.title, new.body);
        END;
        CREATE TRIGGER post_search_delete AFTER DELETE ON post BEGIN
            INSERT INTO post_search (post_search, rowid, title, body) VALUES ('delete', old.rowid, old.title, old.body);
        END;
        CREATE TRIGGER post_search_update AFTER UPDATE OF title, body ON post BEGIN
            INSERT INTO post_search (post_search, rowid, title, body) VALUES ('delete', old.rowid, old.title, old.body);
            INSERT INTO post_search (rowid, title, body) VALUES (new.rowid, new.title, new.body);
        END;
        """
}
