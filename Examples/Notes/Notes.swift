import ArgumentParser
import Foundation
import GRDB
import SyncthingStatus
import SystemPackage
import Ubiquity

/// A notebook on the command line, shared by all of an account's devices.
@main
struct Notes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes",
        abstract: "A notebook on the command line, shared by all devices of an account.",
        discussion: "Sign in first: ubcontrol sign-in ACCOUNT [--containers DIR].",
        subcommands: [
            AddCommand.self, EditCommand.self, RemoveCommand.self, ListCommand.self, ImportCommand.self, SeedCommand.self, RunCommand.self,
            StatusCommand.self, ClearCommand.self, CompactCommand.self, RebuildCommand.self,
        ]
    )

    /// The library reads `-UbiquityLogLevel 3`.
    static func main() async { await main(UbiquityLog.appArguments()) }
}

/// A note, as GRDB keeps it.
struct Note: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "note"

    var id: String
    var title: String
    var body: String?
    var created: String
}

/// The arguments of every subcommand: the home, the container and the store.
struct Notebook: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The device home.", valueName: "dir"))
    var home: String?

    static let contentName = "Notes"

    static let schema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "note") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
                table.column("body", .text)
                table.column("created", .text).notNull()
            }
        }
        return SyncedSchema(migrator: migrator) { SyncedTable("note") }
    }()

    /// Opens the store of the signed-in account.
    func open(exchangesAutomatically: Bool = false) async throws -> UbiquitousStore {
        let deviceHome = if let home { DeviceHome(FilePath(home)) } else { try DeviceHome.standard() }
        let container = try await UbiquityContainer("org.example.notes", home: deviceHome)
        let place = deviceHome.path.appending("Notes/Notes.sqlite")
        var options = UbiquitousStore.Options(contentName: Self.contentName, exchangesAutomatically: exchangesAutomatically)
        // The database in which the notebook kept its notes before it synced.
        options.existingDatabase = place
        #if Syncthing
            options.transport = { try? SyncthingTransport(configuredFor: $0) }
        #endif
        return try await UbiquitousStore.open(at: place, options: options, in: container, schema: Self.schema)
    }

    /// Opens the store for one save, publishes it, and closes.
    func saving<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        let store = try await open()
        let result = try await store.write(body)
        // From here on the save is stored, whatever the result of its publication.
        do {
            try await store.publish()
            let status = try await store.status()
            if let reason = status.suspended { warn("Saved on this device only: \(ContainerAttachment.detached(reason)).") }
            if status.isPaused { warn("Saved on this device only: the store is paused; resume it with: ubcontrol store resume") }
        } catch {
            warn("Saved on this device only: \(error)")
        }
        try await store.close()
        return result
    }
}

/// Prints a line on standard error.
func warn(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

/// Returns text that is safe on a terminal: control characters are replaced with their numbers.
func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
}

/// Returns the current time in the format of notes.
func timestamp() -> String { Date.now.formatted(.iso8601) }

/// Returns a UUID of version 7 (RFC 9562), which is time-ordered, so that inserts go to one end of the index.
func newIdentifier() -> String {
    var bytes = withUnsafeBytes(of: UInt64(Date().timeIntervalSince1970 * 1000).bigEndian) { Array($0[2...]) }
    bytes += (0..<10).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x70
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
        String(Array(digits)[range])
    }
    return groups.joined(separator: "-")
}
