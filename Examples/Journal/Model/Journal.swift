public import Foundation
public import GRDB
internal import SystemPackage
public import Ubiquity

/// The journal of the signed-in account; while nobody is signed in, the journal of this device.
///
/// ```swift
/// let journal = try await Journal.open()
/// try await journal.apply(PostEdit(creating: PostContents(title: "Hello", tags: ["first"])))
/// ```
public struct Journal: Sendable {
    /// The container's identifier.
    public static let container = "org.example.journal"
    /// The content's name.
    public static let contentName = "Journal"

    /// The store, in which everything lies.
    public let store: UbiquitousStore
    /// The device home, which knows who is signed in.
    public let home: DeviceHome

    /// Opens the journal.
    ///
    /// It follows the account, and exchanges changes with the other devices by itself.
    ///
    /// - Parameter home: the device home; nil for the user's own.
    /// - Returns: the journal.
    /// - Throws: `UbiquitousStoreError` or `ContainerError`.
    public static func open(home: DeviceHome? = nil) async throws -> Journal {
        let home = try home ?? DeviceHome.standard()
        let store = try await UbiquitousStore.open(
            at: home.path.appending("Journal/Journal.sqlite"), options: UbiquitousStore.Options(contentName: contentName),
            container: container, home: home, schema: JournalSchema.schema)
        return Journal(store: store, home: home)
    }

    /// Ends the exchange and closes the store.
    public func close() async throws { try await store.close() }
}

extension Journal {
    /// Reads posts; ``PostEntry/list(search:tag:_:)`` describes the order and the parameters.
    public func posts(search: String? = nil, tag: String? = nil) async throws -> [PostEntry] {
        try await store.read { db in try PostEntry.list(search: search, tag: tag, db) }
    }

    /// Returns what the screen shows, again after each change, whichever device or program makes it.
    public func observe(search: String) -> AsyncValueObservation<JournalContents> {
        ValueObservation.tracking { db in try JournalContents.fetch(search: search, db) }.removeDuplicates().values(in: store)
    }

    /// Applies an edit in one save.
    ///
    /// - Returns: whether it is saved.
    /// - Throws: GRDB's errors.
    @discardableResult
    public func apply(_ edit: PostEdit) async throws -> EditOutcome { try await store.write { db in try edit.apply(db) } }

    /// Removes a post.
    ///
    /// - Returns: the edit, which keeps the attachments for an undo; nil if there is no such post.
    /// - Throws: GRDB's errors.
    public func remove(_ id: String) async throws -> PostEdit? {
        try await store.write { db in
            guard let before = try PostContents.fetch(id, db) else { return nil }
            let attachments = try Attachment.filter(Column("post") == id).fetchAll(db)
            let edit = PostEdit(post: id, before: before, after: nil, attachments: attachments)
            _ = try edit.apply(db)
            return edit
        }
    }

    /// Attaches data to a post.
    ///
    /// - Returns: the attachment; nil if there is no such post.
    /// - Throws: GRDB's errors.
    public func attach(_ data: Data, named name: String, to id: String) async throws -> Attachment? {
        let attachment = Attachment(post: id, name: name, data: data)
        return try await store.write { db in
            guard try Post.exists(db, key: id) else { return nil }
            try attachment.insert(db)
            return attachment
        }
    }

    /// Reads an attachment of a post; nil if there is none of this name.
    public func attachment(_ name: String, of id: String) async throws -> Attachment? {
        try await store.read { db in try Attachment.filter(Column("post") == id && Column("name") == name).order(Column("id")).fetchOne(db) }
    }
}
