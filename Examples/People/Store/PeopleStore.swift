public import Foundation
public import GRDB
public import SystemPackage
public import Ubiquity

/// A person, as GRDB keeps it.
public struct Person: Codable, Sendable, FetchableRecord, PersistableRecord {
    /// The table's name.
    public static let databaseTableName = "person"

    /// A UUID.
    public var id: String
    /// The person's name.
    public var name: String
    /// The person's address, which is unique; two devices that enter one address make one person.
    public var email: String
    /// The code of a state, such as `VT`.
    public var state: String?

    /// Makes a person.
    public init(id: String = UUID().uuidString.lowercased(), name: String, email: String, state: String? = nil) {
        self.id = id
        self.name = name
        self.email = email
        self.state = state
    }
}

/// A person with the name of the state, which is in a table that never syncs.
public struct Resident: Codable, Sendable, FetchableRecord {
    /// The person's identifier.
    public var id: String
    /// The person's name.
    public var name: String
    /// The person's address.
    public var email: String
    /// The code of the state.
    public var state: String?
    /// The state's name; nil if the code is unknown.
    public var stateName: String?
}

/// Opens the people of the signed-in account; programs that use this share their data.
public enum PeopleStore {
    /// The container's identifier.
    public static let container = "org.example.people"
    /// The content's name.
    public static let contentName = "People"

    /// The schema: the persons sync; the states come with the program, and are only read.
    public static let schema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "person") { table in
                table.primaryKey("id", .text)
                table.column("name", .text).notNull()
                table.column("email", .text).notNull().unique()
                table.column("state", .text)
            }
        }
        return SyncedSchema(migrator: migrator) { SyncedTable("person", unique: [["email"]]) }
    }()

    /// Opens the people of the signed-in account; without one, the people of this device.
    ///
    /// - Parameters:
    ///   - home: the device home; by default the user's.
    ///   - automatically: whether the store exchanges automatically.
    ///   - joining: the handling of people entered while no account was signed in.
    /// - Returns: the store.
    /// - Throws: `UbiquitousStoreError` or `ContainerError`.
    public static func open(home: FilePath? = nil, automatically: Bool = false, joining: JoiningPolicy = .merge) async throws -> UbiquitousStore {
        let home = if let home { DeviceHome(home) } else { try DeviceHome.standard() }
        var options = try options()
        options.advanced.exchangesAutomatically = automatically
        options.joiningPolicy = joining
        return try await UbiquitousStore.open(at: file(in: home), options: options, container: container, home: home, schema: schema)
    }

    /// Opens an account's people on this device, whether it is signed in or not, and writes nothing.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - home: the device home; by default the user's.
    /// - Returns: the store, for reading only.
    /// - Throws: `UbiquitousStoreError` or `ContainerError`.
    public static func openReadOnly(account: AccountName, home: FilePath? = nil) async throws -> UbiquitousStore {
        let home = if let home { DeviceHome(home) } else { try DeviceHome.standard() }
        return try await UbiquitousStore.openReadOnly(
            at: file(in: home), account: account, options: options(), container: container, home: home, schema: schema)
    }

    private static func file(in home: DeviceHome) -> FilePath { home.path.appending("People/People.sqlite") }

    private static func options() throws -> UbiquitousStore.Options {
        var options = UbiquitousStore.Options(contentName: contentName)
        guard let states = Bundle.module.path(forResource: "States", ofType: "sqlite") else {
            throw UbiquitousStoreError(.fileSystem, "States.sqlite, which comes with this program, is missing.")
        }
        options.attachedDatabases = [.bundled("bundled", at: FilePath(states))]
        return options
    }

    /// Returns the persons by name, with their states.
    ///
    /// - Parameter db: a connection of the store.
    /// - Returns: every person.
    /// - Throws: GRDB's errors.
    public static func residents(_ db: Database) throws -> [Resident] {
        try Resident.fetchAll(
            db,
            sql: """
                SELECT person.*, state.name AS stateName FROM person LEFT JOIN bundled.state ON state.code = person.state
                ORDER BY person.name, person.id
                """)
    }
}
