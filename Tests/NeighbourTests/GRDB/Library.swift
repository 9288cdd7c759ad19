import Foundation
import GRDB
import Ubiquity

/// An author, as GRDB's documentation writes records.
struct Author: Codable, Hashable, Identifiable, Sendable, FetchableRecord, PersistableRecord {
    var id = UUID()
    var name: String
    var country: String?

    static let books = hasMany(Book.self)
    var books: QueryInterfaceRequest<Book> { request(for: Author.books) }

    enum Columns {
        static let name = Column(CodingKeys.name)
        static let country = Column(CodingKeys.country)
    }
}

/// A book by an author.
struct Book: Codable, Hashable, Identifiable, Sendable, FetchableRecord, PersistableRecord {
    enum Kind: String, Codable, DatabaseValueConvertible { case novel, essay }

    var id = UUID()
    var authorId: UUID
    var title: String
    var kind = Kind.novel
    var published: Date
    /// GRDB stores it as JSON.
    var tags: [String] = []
    var price: Double?

    static let author = belongsTo(Author.self)

    enum Columns {
        static let title = Column(CodingKeys.title)
        static let kind = Column(CodingKeys.kind)
        static let price = Column(CodingKeys.price)
    }
}

extension DerivableRequest<Book> {
    func by(_ kind: Book.Kind) -> Self { filter(Book.Columns.kind == kind) }
    func orderedByTitle() -> Self { order(Book.Columns.title.collating(.localizedCaseInsensitiveCompare)) }
}

/// A book with its author, from one request.
struct BookInfo: Decodable, Hashable, Sendable, FetchableRecord {
    var book: Book
    var author: Author
}

/// An author with the number of books.
struct AuthorInfo: Decodable, Hashable, Sendable, FetchableRecord {
    var author: Author
    var bookCount: Int
}

/// An author with all books.
struct Shelf: Decodable, Hashable, Sendable, FetchableRecord {
    var author: Author
    var books: [Book]
}

/// The schema, by GRDB's builder.
enum Library {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "author") { t in
                t.primaryKey("id", .blob)
                t.column("name", .text).notNull()
                t.column("country", .text)
            }
            try db.create(table: "book") { t in
                t.primaryKey("id", .blob)
                t.belongsTo("author", onDelete: .cascade).notNull()
                t.column("title", .text).notNull()
                t.column("kind", .text).notNull()
                t.column("published", .datetime).notNull()
                t.column("tags", .jsonText).notNull()
            }
        }
        migrator.registerMigration("v2") { db in
            try db.alter(table: "book") { t in t.add(column: "price", .double) }
            try db.create(index: "book_title", on: "book", columns: ["title"])
        }
        return migrator
    }()

    static let schema = SyncedSchema(migrator: migrator) {
        SyncedTable("author")
        SyncedTable("book")
    }

    /// A moment that SQLite's text with milliseconds holds exactly.
    static let moment = Date(timeIntervalSince1970: 1_700_000_000.25)

    /// Saves an author with two books.
    static func fill(_ store: UbiquitousStore) async throws -> (Author, [Book]) {
        let author = Author(name: "Ursula", country: "US")
        let books = [
            Book(authorId: author.id, title: "The Dispossessed", published: moment, tags: ["anarchy", "“moons”"], price: 12.5),
            Book(authorId: author.id, title: "always coming home", kind: .essay, published: moment),
        ]
        try await store.write { db in
            try author.insert(db)
            for book in books { try book.insert(db) }
        }
        return (author, books)
    }
}
