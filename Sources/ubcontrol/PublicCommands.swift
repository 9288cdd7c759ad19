import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups the commands about public containers.
struct PublicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public",
        abstract: "Create public containers, and decide who holds which role in them.",
        discussion: """
            Anybody reads a public container, and many accounts write it. The device that creates it is its steward. For example:

                ubcontrol public create --at ROOT --table score=creator:player --table template=role:editor
            """,
        subcommands: [PublicCreateCommand.self, PublicGrantCommand.self, PublicRemoveCommand.self, PublicMergeCommand.self]
    )
}

/// Runs `ubcontrol public create`.
struct PublicCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a public container, and print its identifier.",
        discussion: """
            The container is the directory public/<identifier> below --at. Its owner is a new account, and this device is its steward: only this \
            device signs policies. Keep a copy of scopes/<identifier> of the device home: without its keys no policy can be signed any more. \
            The tables and their rules are those that the app declares.
            """
    )

    @Option(name: .customLong("at"), help: ArgumentHelp("The directory in which the container is created.", valueName: "dir"), completion: .directory)
    var root: String

    @Option(
        name: .customLong("table"),
        help: ArgumentHelp(
            "A synced table, and who changes its records: NAME=creator:COLUMN, where the column of the primary key names the account, or NAME=role:ROLE.",
            valueName: "rule"))
    var tables: [String] = []

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: container, owner, directory.")
    var json = false

    func validate() throws {
        if tables.isEmpty { throw ValidationError("Name each synced table with --table, such as --table score=creator:player.") }
        for table in tables where Self.rule(table) == nil {
            throw ValidationError("“\(table)” is no rule of a table; write NAME=creator:COLUMN or NAME=role:ROLE.")
        }
    }

    private static func rule(_ text: String) -> (table: String, access: TableAccess)? {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        let rule = parts[1].split(separator: ":", maxSplits: 1).map(String.init)
        switch (rule.first, rule.count) {
        case ("creator", 2): return (parts[0], .creator(rule[1]))
        case ("role", 2): return (parts[0], .role(rule[1]))
        default: return nil
        }
    }

    func run() async throws {
        var beginning = ScopeRegistration.Beginning()
        for (table, access) in tables.compactMap(Self.rule) { beginning.access[table] = access }
        let registration = ScopeRegistration(home: try home.deviceHome, root: FilePath(root))
        let (container, owner) = try registration.createContainer(beginning)
        if json {
            return try printJSON([
                "container": container.description, "owner": owner.description, "directory": registration.directory(container).path.string,
            ])
        }
        print(container)
    }
}

/// The role and the account of a decision.
struct RoleArguments: ParsableArguments {
    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The role, as the app's tables declare it.", valueName: "role"))
    var role: String

    @Argument(help: ArgumentHelp("The account.", valueName: "account"))
    var account: String

    func validate() throws {
        if AccountIdentifier(account) == nil {
            throw ValidationError("“\(account)” is no identifier of an account, which has 52 letters and digits.")
        }
    }

    var identifier: AccountIdentifier { AccountIdentifier(account)! }
}

/// Runs `ubcontrol public grant`.
struct PublicGrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Ask the steward's app to give an account a role.",
        discussion: "The app signs the policy with its next exchange. Other devices follow once the policy has arrived."
    )

    @OptionGroup var arguments: RoleArguments

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws { try arguments.store.ask(.grant(role: arguments.role, arguments.identifier), json: json) }
}

/// Runs `ubcontrol public remove`.
struct PublicRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Ask the steward's app to take a role from an account.",
        discussion: """
            The app writes what remains of the tables of all roles, and signs a policy with its next exchange. What the steward's store has of the \
            account's changes stays; later ones have no effect, also with an old date.
            """
    )

    @OptionGroup var arguments: RoleArguments

    @OptionGroup var confirmation: ConfirmOption

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws {
        try confirmation.confirm("Changes of \(arguments.account) that the steward has not read yet will have no effect in tables of roles.")
        try arguments.store.ask(.remove(role: arguments.role, arguments.identifier), json: json)
    }
}

/// Runs `ubcontrol public merge`.
struct PublicMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Ask the steward's app to merge two policies of one number.",
        discussion: """
            A steward that was restored from a backup may have signed two policies of one number. Until they are merged, all readers leave the \
            tables of roles as they are. The merged policy gives the rights on which both agree.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws { try store.ask(.merge, json: json) }
}
