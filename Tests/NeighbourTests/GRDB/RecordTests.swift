import Foundation
import GRDB
import Testing
import Ubiquity

/// Records, requests and associations as GRDB's documentation writes them, on a synced store.
struct RecordTests {
    @Test("Codable records with UUID keys, dates, enums and JSON arrays are equal on the other device")
    func records() async throws {
        try await withTwoDevices(Library.schema) { two in
            let (author, books) = try await Library.fill(two.desk)
            #expect(try await two.onBoth { db in try Author.find(db, key: author.id) } == author)
            #expect(try await two.onBoth { db in try Set(Book.fetchAll(db)) } == Set(books))
            #expect(
                try await two.rows("SELECT typeof(id), json_array_length(tags) FROM book ORDER BY title") == [["\"blob\"", "2"], ["\"blob\"", "0"]])
        }
    }

    @Test("Requests with associations and aggregates read what the other device has saved")
    func associations() async throws {
        try await withTwoDevices(Library.schema) { two in
            let (author, books) = try await Library.fill(two.desk)
            let infos = try await two.onBoth { db in
                try Book.including(required: Book.author).by(.novel).asRequest(of: BookInfo.self).fetchAll(db)
            }
            #expect(infos == [BookInfo(book: books[0], author: author)])
            let counts = try await two.onBoth { db in
                try Author.annotated(with: Author.books.count).having(Author.books.count > 1).asRequest(of: AuthorInfo.self).fetchAll(db)
            }
            #expect(counts == [AuthorInfo(author: author, bookCount: 2)])
            let shelf = try await two.onBoth { db in
                try Author.including(all: Author.books.orderedByTitle()).asRequest(of: Shelf.self).fetchOne(db)
            }
            #expect(shelf == Shelf(author: author, books: [books[1], books[0]]))
            #expect(
                try await two.onBoth { db in try author.books.select(Book.Columns.title, as: String.self).fetchSet(db) } == Set(books.map(\.title)))
        }
    }

    @Test("insert, update, save, updateChanges, updateAll and delete sync, and updateChanges states only the columns that it changes")
    func persistence() async throws {
        try await withTwoDevices(Library.schema) { two in
            let (author, books) = try await Library.fill(two.desk)
            try await two.sync()
            // At once, on two devices, two columns of one record.
            try await two.desk.write { db in
                var book = books[0]
                try book.updateChanges(db) { $0.title = "Rocannon's World" }
            }
            try await two.phone.write { db in
                var book = books[0]
                try book.updateChanges(db) { $0.price = 9 }
                var late = Book(authorId: author.id, title: "Lavinia", published: Library.moment)
                try late.save(db)
                late.title = "Lavinia!"
                try late.save(db)
                try late.update(db, columns: [Book.Columns.title])
            }
            let merged = try await two.onBoth { db in try Book.find(db, key: books[0].id) }
            #expect(merged.title == "Rocannon's World" && merged.price == 9 && merged.tags == books[0].tags)
            #expect(try await two.onBoth { db in try Book.filter { _ in Book.Columns.title == "Lavinia!" }.fetchCount(db) } == 1)

            try await two.phone.write { db in
                _ = try Book.filter(Book.Columns.price == nil).updateAll(
                    db, Book.Columns.price.set(to: 1), Book.Columns.kind.set(to: Book.Kind.essay))
                _ = try Book.filter(Book.Columns.price == 1).updateAll(db, Book.Columns.price.set(to: Book.Columns.price + 2))
            }
            #expect(try await two.onBoth { db in try Book.filter(Book.Columns.price == 3).by(.essay).fetchCount(db) } == 2)

            // The books go with their author.
            #expect(try await two.desk.write { db in try author.delete(db) })
            #expect(try await two.onBoth { db in try Book.fetchCount(db) + Author.fetchCount(db) } == 0)
        }
    }

    @Test("upsert, and insertions, updates and deletions that return rows, sync like plain ones")
    func returning() async throws {
        try await withTwoDevices(Library.schema) { two in
            let author = Author(name: "Octavia")
            try await two.desk.write { db in try author.upsert(db) }
            try await two.sync()
            let stored = try await two.phone.write { db in
                var changed = author
                changed.country = "US"
                return try changed.upsertAndFetch(db)
            }
            #expect(stored.country == "US")
            #expect(try await two.onBoth { db in try Author.fetchAll(db) } == [stored])

            let book = Book(authorId: author.id, title: "Kindred", published: Library.moment)
            #expect(try await two.desk.write { db in try book.insertAndFetch(db) } == book)
            try await two.sync()
            let titles = try await two.phone.write { db in
                try Book.filter(key: book.id).updateAndFetchAll(db, [Book.Columns.title.set(to: "Dawn")]).map(\.title)
            }
            #expect(titles == ["Dawn"])
            #expect(try await two.onBoth { db in try Book.fetchOne(db)?.title } == "Dawn")
            #expect(try await two.desk.write { db in try Book.filter(key: book.id).deleteAndFetchIds(db) } == [book.id])
            #expect(try await two.onBoth { db in try Book.fetchCount(db) } == 0)
        }
    }

    @Test("What a savepoint or a transaction rolls back is not published, and the rest is")
    func savepoints() async throws {
        try await withTwoDevices(Library.schema) { two in
            try await two.desk.write { db in
                try Author(name: "kept").insert(db)
                try db.inSavepoint {
                    try Author(name: "undone").insert(db)
                    return .rollback
                }
                try db.inSavepoint {
                    try Author(name: "nested").insert(db)
                    return .commit
                }
            }
            struct Interrupted: Error {}
            await #expect(throws: Interrupted.self) {
                try await two.desk.write { db in
                    try Author(name: "thrown").insert(db)
                    throw Interrupted()
                }
            }
            // GRDB's own form, which leaves the transaction to the app.
            try await two.desk.writeWithoutTransaction { db in
                try db.inTransaction(.immediate) {
                    try Author(name: "own").insert(db)
                    return .commit
                }
            }
            #expect(try await two.onBoth { db in try Author.select(Author.Columns.name, as: String.self).fetchSet(db) } == ["kept", "nested", "own"])
        }
    }

    @Test("Raw SQL with arguments, SQL interpolation and prepared statements sync like records")
    func rawSQL() async throws {
        try await withTwoDevices(Library.schema) { two in
            let key = UUID()
            try await two.desk.write { db in
                try db.execute(sql: "INSERT INTO author (id, name) VALUES (:id, :name)", arguments: ["id": key, "name": "Ann"])
                try db.execute(literal: "UPDATE author SET country = \("NO") WHERE id = \(key)")
                let statement = try db.cachedStatement(sql: "INSERT INTO author (id, name) VALUES (?, ?)")
                for name in ["Bea", "Cid"] { try statement.execute(arguments: [UUID(), name]) }
            }
            #expect(
                try await two.rows("SELECT name, country FROM author ORDER BY name") == [
                    ["\"Ann\"", "\"NO\""], ["\"Bea\"", "NULL"], ["\"Cid\"", "NULL"],
                ])
        }
    }
}
