import ArgumentParser
import Foundation
import GRDB
import SyncthingStatus
import SystemPackage
import Ubiquity

/// The arguments of every subcommand, and the notebook that they name.
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

    /// The device home that `--home` names, or the user's own.
    var deviceHome: DeviceHome {
        get throws { if let home { DeviceHome(FilePath(home)) } else { try DeviceHome.standard() } }
    }

    /// Opens the notes of the signed-in account, or of this device while nobody is signed in.
    func open(exchangesAutomatically: Bool = false) async throws -> UbiquitousStore {
        let deviceHome = try deviceHome
        let place = deviceHome.path.appending("Notes/Notes.sqlite")
        var options = UbiquitousStore.Options(contentName: Self.contentName)
        options.advanced.exchangesAutomatically = exchangesAutomatically
        // The database in which the notebook kept its notes before it synced.
        options.existingDatabase = place
        #if Syncthing
            options.transport = { try? SyncthingTransport(configuredFor: $0) }
        #endif
        return try await UbiquitousStore.open(at: place, options: options, container: "org.example.notes", home: deviceHome, schema: Self.schema)
    }

    /// Opens the signed-in account's notes, for a command that concerns all devices.
    ///
    /// - Throws: an error if nobody is signed in, or if the account's content has not been read on this device.
    func openAccount() async throws -> UbiquitousStore {
        let store = try await open()
        do {
            if let obstacle = await store.reachAccount() { throw obstacle }
            switch await store.place {
            case .account?: return store
            case .fallback(let account)?: throw Unread(account)
            case .local?, nil: throw SignedOut(home: try deviceHome.path)
            }
        } catch {
            try? await store.close()
            throw error
        }
    }

    /// Opens the store for one save, publishes it, and closes.
    func saving<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        let store = try await open()
        // A new device edits the account's notes, not an empty fallback file.
        let obstacle = await store.reachAccount()
        let result = try await store.write(body)
        // From here on the save is stored, whatever the result of its publication.
        await store.publish(after: obstacle)
        try await store.close()
        return result
    }
}

extension UbiquitousStore {
    /// Changes to the file where the store belongs: the account's, as soon as its content has been read once.
    ///
    /// - Returns: the obstacle; nil if there is none.
    func reachAccount() async -> (any Error)? {
        guard await place?.isLocalStorage == true else { return nil }
        do {
            try await settled()
            return nil
        } catch {
            return error
        }
    }

    /// Publishes the saves, and warns if they stay on this device although an account is signed in.
    func publish(after obstacle: (any Error)?) async {
        do {
            if let obstacle { throw obstacle }
            switch await place {
            case .local?: return
            case .fallback(let account)?: throw Unread(account)
            case .account?, nil: try await publish()
            }
            let status = try await status()
            if let reason = status.suspended { warn("Saved on this device only: \(ContainerAttachment.detached(reason)).") }
            if status.isPaused { warn("Saved on this device only: the store is paused; resume it with: ubcontrol store resume") }
        } catch {
            warn("Saved on this device only: \(error)")
        }
    }
}

/// An error for a command that needs the account's notes before they have been read.
struct Unread: Error, CustomStringConvertible {
    var account: AccountName
    init(_ account: AccountName) { self.account = account }
    var description: String {
        "What the other devices of \(account) have sent has not arrived completely since the sign-in; see: notes status."
    }
}

/// An error for a command that needs an account while nobody is signed in.
struct SignedOut: Error, CustomStringConvertible {
    var home: FilePath
    var description: String { "Nobody is signed in at \(home), so there are no other devices; sign in with: ubcontrol sign-in ACCOUNT" }
}
