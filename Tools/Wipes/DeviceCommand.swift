import ArgumentParser
import Foundation
import GRDB
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// One device: a process that saves continuously, and prints its saves and events.
///
/// It prints `ready`, `saved KEY` when a save is durable, `event KIND`, `suspended` and `resumed`. At SIGUSR1 it stops
/// saving and prints `rests`; at SIGUSR2 it exchanges and prints `settled` or `unsettled REASON`, and `holds KEY…`; at
/// SIGTERM it ends.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device", abstract: "One of the devices.", shouldDisplay: false)

    @Option var home: String
    @Option var name: String
    @Option var pace: Int

    static let container = "org.example.wipes"

    private static let schema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "note") { table in
                table.primaryKey("id", .text)
                table.column("number", .integer).notNull()
            }
        }
        return SyncedSchema(migrator: migrator) { SyncedTable("note") }
    }()

    func run() async throws {
        let (signals, arrivals) = AsyncStream.makeStream(of: Int32.self)
        let handlers = SignalHandlers([SIGUSR1, SIGUSR2, SIGTERM]) { arrivals.yield($0) }
        defer { handlers.cancel() }
        let home = DeviceHome(FilePath(home))
        let container = try await UbiquityContainer(Self.container, home: home)
        let store = try await UbiquitousStore.open(
            at: home.path.appending("App/Notes.sqlite"), options: .init(contentName: "Notes"), in: container, schema: Self.schema)
        let events = try container.events
        try await events.ready()
        let telling = Task {
            for await event in events { say("event \(event.kind.name)") }
        }
        let hearing = Task {
            for await notice in store.notices {
                switch notice {
                case .didSuspend: say("suspended")
                case .didResume: say("resumed")
                default: break
                }
            }
        }
        say("ready")
        let saving = Task { [name, pace] in
            var number = 0
            while !Task.isCancelled {
                number += 1
                let key = "\(name)\(number)"
                do {
                    try await store.write { [number] db in try db.execute(sql: "INSERT INTO note VALUES (?, ?)", arguments: [key, number]) }
                } catch is CancellationError {
                    return
                }
                say("saved \(key)")
                try? await Task.sleep(for: .milliseconds(pace))
            }
        }
        for await signal in signals {
            switch signal {
            case SIGUSR1:
                saving.cancel()
                _ = await saving.result
                say("rests")
            case SIGUSR2:
                say("exchanges")
                do {
                    try await store.settled()
                    say("settled")
                } catch {
                    say("unsettled \(error)")
                }
                let keys = try await store.read { db in try String.fetchAll(db, sql: "SELECT id FROM note ORDER BY id") }
                say("holds \(keys.joined(separator: " "))")
            default:
                saving.cancel()
                telling.cancel()
                hearing.cancel()
                try await store.close()
                return
            }
        }
    }
}

/// Prints a line at once.
func say(_ line: String) {
    print(line)
    fflush(nil)
}
