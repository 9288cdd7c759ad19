import ArgumentParser
import GRDB
import Ubiquity

/// Runs `scores templates`.
struct TemplatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "templates",
        abstract: "The levels of the game, which editors keep.",
        subcommands: [List.self, Add.self, Edit.self],
        defaultSubcommand: List.self
    )

    /// Runs `scores templates list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the levels.")

        func run() async throws {
            try await Game.withScores { store in
                let templates = try await store.read { db in try Template.order(Column("id")).fetchAll(db) }
                for template in templates { print(printable("\(template.id)  \(template.title)")) }
            }
        }
    }

    /// Runs `scores templates add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add a level; for editors.")

        @Argument(help: "The level's identifier.")
        var id: String

        @Argument(help: "The title.")
        var title: String

        func run() async throws {
            try await TemplatesCommand.editing(id) { [id, title] db in try Template(id: id, title: title).insert(db) }
        }
    }

    /// Runs `scores templates edit`.
    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change a level's title; for editors.")

        @Argument(help: "The level's identifier.")
        var id: String

        @Argument(help: "The new title.")
        var title: String

        func run() async throws {
            try await TemplatesCommand.editing(id) { [id, title] db in
                guard var template = try Template.fetchOne(db, key: id) else { throw NotThere(what: "level", id: id, list: "templates") }
                try template.updateChanges(db) { $0.title = title }
            }
        }
    }

    /// Writes a template, if this device's account may.
    fileprivate static func editing(_ id: String, _ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try await Game.withScores { store in
            guard store.canUpdate(Template.record(id)) else {
                throw Game.Failure(
                    description:
                        "Only editors change levels\(store.account.map { ", and \($0) is none" } ?? ", and nobody is signed in"). The owner of the game grants the role: ubcontrol public grant STORE editor ACCOUNT."
                )
            }
            try await store.write(body)
        }
    }
}
