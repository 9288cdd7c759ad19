import ArgumentParser
import Foundation
import GRDB
import PeopleStore
import SystemPackage
import Ubiquity
import UnixSignals

/// People on the command line, for the signed-in account.
@main
struct People: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "people",
        abstract: "People on the command line, for the signed-in account.",
        discussion: """
            While no account is signed in, people are kept on this device; they join the account's people after a sign-in, unless --apart is given.
            Sign in with: ubcontrol sign-in ACCOUNT [--containers DIR].
            """,
        subcommands: [
            Add.self, Edit.self, Remove.self, List.self, Seed.self, Duplicates.self, Where.self, Run.self, Nuke.self, CopyContainer.self,
        ]
    )

    /// The library reads `-UbiquityLogLevel 3`.
    static func main() async { await main(UbiquityLog.appArguments()) }
}

/// The arguments of every subcommand.
struct Place: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The device home.", valueName: "dir"))
    var home: String?

    @Flag(help: "Keep the people that were entered while signed out on this device only.")
    var apart = false

    func open(automatically: Bool = false) async throws -> UbiquitousStore {
        try await PeopleStore.open(home: home.map { FilePath($0) }, automatically: automatically, joining: apart ? .keepSeparate : .merge)
    }

    /// Opens the store, saves, publishes, and closes.
    func saving<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        let store = try await open()
        let result: Result
        do {
            result = try await store.write(body)
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
            throw Refusal("There is a person with that e-mail address already; see: people list")
        }
        try await store.finishTelling()
        return result
    }
}

/// A refused command, with its remedy.
struct Refusal: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

extension UbiquitousStore {
    /// Takes in what other devices have sent, as far as possible.
    func settleAsFarAsPossible() async {
        do {
            try await settled()
        } catch {
            FileHandle.standardError.write(Data("On this device only: \(error)\n".utf8))
        }
    }

    /// Publishes and closes, and says why a save stays on this device.
    func finishTelling() async throws {
        guard let reason = try await finish().reason, reason != .signedOut else { return }
        FileHandle.standardError.write(Data("On this device only: \(reason)\n".utf8))
    }
}

/// Runs `people add`.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a person and print the identifier.")

    @Argument(help: "The name.")
    var name: String

    @Option(help: "The e-mail address, which is unique.")
    var email: String

    @Option(help: "The code of a state, such as VT.")
    var state: String?

    @OptionGroup var place: Place

    func run() async throws {
        let person = Person(name: name, email: email, state: state)
        try await place.saving { db in
            if let state = person.state,
                try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM bundled.state WHERE code = ?)", arguments: [state])!
            {
                throw Refusal("“\(state)” is the code of no state; use one like VT.")
            }
            try person.insert(db)
        }
        print(person.id)
    }
}

/// Runs `people edit`.
struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Change a person's name or state.")

    @Argument(help: "The person's e-mail address.")
    var email: String

    @Option(help: "The new name.")
    var name: String?

    @Option(help: "The code of the new state.")
    var state: String?

    @OptionGroup var place: Place

    func validate() throws {
        if name == nil, state == nil { throw ValidationError("Nothing to change: give --name, --state, or both.") }
    }

    func run() async throws {
        let isFound = try await place.saving { [email, name, state] db in
            guard var person = try Person.filter(Column("email") == email).fetchOne(db) else { return false }
            return try person.updateChanges(db) {
                if let name { $0.name = name }
                if let state { $0.state = state }
            } || true
        }
        if !isFound { throw Refusal("Nobody has the e-mail address \(email); see: people list") }
    }
}

/// Runs `people rm`.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rm", abstract: "Remove a person.")

    @Argument(help: "The person's e-mail address.")
    var email: String

    @OptionGroup var place: Place

    func run() async throws {
        let count = try await place.saving { [email] db in try Person.filter(Column("email") == email).deleteAll(db) }
        if count == 0 { throw Refusal("Nobody has the e-mail address \(email); see: people list") }
    }
}

/// Runs `people list`.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the people, with the names of their states.")

    @Flag(help: "Print a JSON array.")
    var json = false

    @Flag(help: "Do not read the container.")
    var offline = false

    @Option(
        help: ArgumentHelp("List the people of this account on the device, whether it is signed in or not, and write nothing.", valueName: "name"))
    var account: String?

    @OptionGroup var place: Place

    func run() async throws {
        let store: UbiquitousStore
        if let account {
            store = try await PeopleStore.openReadOnly(account: try AccountName(account), home: place.home.map { FilePath($0) })
        } else {
            store = try await place.open()
            if !offline { await store.settleAsFarAsPossible() }
        }
        let people = try await store.read { db in try PeopleStore.residents(db) }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(people), as: UTF8.self))
        } else {
            for person in people { print("\(person.name) <\(person.email)>\(person.stateName.map { ", \($0)" } ?? "")") }
        }
        try await store.close()
    }
}

/// Runs `people seed`.
struct Seed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Fill in people from a database, once for all devices of the account.")

    @Argument(help: "A database with the table “person”.", completion: .file(extensions: ["sqlite"]))
    var file: String

    @Option(help: "The seed's name: records seeded under this name are not seeded again.")
    var token: String

    @OptionGroup var place: Place

    func run() async throws {
        let store = try await place.open()
        await store.settleAsFarAsPossible()
        let seeding = try await store.seed(from: SeedFile(FilePath(file)), token: token)
        try await store.finishTelling()
        print(seeding.wasComplete ? "“\(token)” has been seeded before." : "Seeded \(seeding.seeded) people, passed over \(seeding.skipped).")
    }
}

/// Runs `people duplicates`.
struct Duplicates: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List people that became one because they had one e-mail address.")

    @OptionGroup var place: Place

    func run() async throws {
        let store = try await place.open()
        await store.settleAsFarAsPossible()
        for duplicate in try await store.duplicates() {
            print("\(duplicate.record): \(duplicate.members.map(\.record.description).joined(separator: ", "))")
        }
        try await store.close()
    }
}

/// Runs `people where`.
struct Where: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the account of these people, and whether they reach other devices.")

    @OptionGroup var place: Place

    func run() async throws {
        let store = try await place.open()
        await store.settleAsFarAsPossible()
        let status = try await store.status()
        switch await store.place {
        case .account(let account)?: print("\(account)'s; waiting to go out: \(status.unpublished)")
        case .fallback(let account)?: print("\(account)'s, on this device until what other devices have sent has been read")
        case .local?, nil: print("this device's; nobody is signed in")
        }
        print(store.file)
        if let failure = status.failure { print("failed: \(failure)") }
        try await store.close()
    }
}

/// Runs `people run`.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow the account, and print a line for each change of file and each import, until interrupted.")

    @OptionGroup var place: Place

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let store = try await place.open(automatically: true)
        let printing = Task {
            for await notice in store.notices {
                switch notice {
                case .willChange(let transition): say("will change: \(transition.kind)")
                case .didChange(let transition): say("did change: \(transition.kind): \(transition.added.file)")
                case .didImport(let changes): say("imported \(changes.inserted.count + changes.updated.count + changes.deleted.count)")
                default: break
                }
            }
        }
        say("ready: \(store.file)")
        for await _ in signals { break }
        printing.cancel()
        try await store.close()
    }

    /// Prints a line at once, also into a pipe.
    private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

/// Runs `people nuke`.
struct Nuke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nuke", abstract: "Nuke and pave: remove everybody, on all devices of the account.")

    @Flag(help: "Confirm the removal of everything.")
    var yes = false

    @OptionGroup var place: Place

    func validate() throws {
        if !yes { throw ValidationError("This removes everybody on all devices: add --yes.") }
    }

    func run() async throws {
        let store = try await place.open()
        await store.settleAsFarAsPossible()
        _ = try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: PeopleStore.contentName))
        // This removes unneeded files from the container, because the program may not run again for long.
        await store.settleAsFarAsPossible()
        try await store.close()
        print("Removed everybody.")
    }
}

/// Runs `people copy-container`.
struct CopyContainer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Copy the container for a bug report.")

    @Option(name: .customLong("to"), help: ArgumentHelp("The destination, a directory that does not exist.", valueName: "dir"))
    var directory: String

    @OptionGroup var place: Place

    func run() async throws {
        let home = if let home = place.home { DeviceHome(FilePath(home)) } else { try DeviceHome.standard() }
        let container = try await UbiquityContainer(PeopleStore.container, home: home)
        let copy = try ContainerCopy.make(of: container.path, at: FilePath(directory))
        print("Copied \(copy.files) files.")
        for left in copy.leftOut { print("left out: \(left.path): \(left.reason)") }
    }
}
