import ArgumentParser
import Foundation
import StoreInspection
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
        subcommands: [
            PublicCreateCommand.self, PublicGrantCommand.self, PublicRemoveCommand.self, PublicMergeCommand.self, PublicBlockCommand.self,
            PublicVetoCommand.self, PublicModerationCommand.self, PublicLimitCommand.self, PublicAdmissionCommand.self,
            PublicRegistrarCommand.self, PublicAdmitCommand.self, PublicHeirCommand.self, PublicSucceedCommand.self,
            PublicRequestsCommand.self, PublicGatherCommand.self, PublicPublishCommand.self, PublicAuditCommand.self, PublicSchemaCommand.self,
            PublicAccessCommand.self,
        ]
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
    var tables: [TableRule] = []

    @Option(
        name: .customLong("registrar"),
        help: ArgumentHelp(
            "Let only accounts contribute that the holder of this public key admits. May be given more than once.",
            discussion: "`ubcontrol public registrar` prints a key.", valueName: "key"))
    var registrars: [String] = []

    @Option(
        name: .customLong("heir"),
        help: ArgumentHelp(
            "Let the holder of this public key succeed the owner. May be given more than once.", discussion: "`ubcontrol public heir` prints a key.",
            valueName: "key"))
    var heirs: [String] = []

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: container, owner, directory.")
    var json = false

    func validate() throws {
        if tables.isEmpty { throw ValidationError("Name each synced table with --table, such as --table score=creator:player.") }
        _ = try PublicKeys.parse(registrars + heirs)
    }

    func run() async throws {
        var beginning = ScopeRegistration.Beginning()
        for rule in tables { beginning.access[rule.table] = rule.access }
        if !registrars.isEmpty { beginning.admission = .registrars(Set(try PublicKeys.parse(registrars))) }
        beginning.heirs = Set(try PublicKeys.parse(heirs))
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

/// The identifier of an account on the command line.
struct AccountArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The account.", valueName: "account"))
    var account: String

    func validate() throws {
        if AccountIdentifier(account) == nil {
            throw ValidationError("“\(account)” is no identifier of an account, which has 52 letters and digits.")
        }
    }

    var identifier: AccountIdentifier { AccountIdentifier(account)! }
}

/// The role and the account of a decision.
struct RoleArguments: ParsableArguments {
    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The role, as the app's tables declare it.", valueName: "role"))
    var role: String

    @OptionGroup private var argument: AccountArgument

    var account: String { argument.account }
    var identifier: AccountIdentifier { argument.identifier }
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
            account's changes stays, except what --take-back names; later ones have no effect, also with an old date.
            """
    )

    @OptionGroup var arguments: RoleArguments

    @OptionGroup var takeBack: TakeBackOption

    @OptionGroup var confirmation: ConfirmOption

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws {
        let takingBack = try takeBack.takingBack
        let also = takingBack == .nothing ? "" : ", and what is taken back vanishes everywhere"
        try confirmation.confirm("Changes of \(arguments.account) that the steward has not read yet will have no effect in tables of roles\(also).")
        try arguments.store.ask(.remove(role: arguments.role, arguments.identifier, takingBack: takingBack), json: json)
    }
}

/// What a removal takes back.
struct TakeBackOption: ParsableArguments {
    @Option(
        name: .customLong("take-back"),
        help: ArgumentHelp(
            "Take back changes that the store has: “all”, or DEVICE:SEQUENCE for a device's logs after that one.",
            discussion: """
                They vanish everywhere; what others wrote stays. SEQUENCE is the number with which a log's file name begins; `ubwatch log FILE` \
                shows a log. May be given once for each device. It is refused if an earlier removal has made one of these logs permanent, or if a \
                log of others is missing.
                """, valueName: "what"))
    var words: [String] = []

    func validate() throws { _ = try takingBack }

    var takingBack: TakingBack {
        get throws {
            guard let value = TakingBack(words: words) else {
                throw ValidationError("“\(words.joined(separator: " "))” takes back nothing; write “all”, or DEVICE:SEQUENCE once for each device.")
            }
            return value
        }
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

/// Runs `ubcontrol public requests`.
struct PublicRequestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "List what the app of a store has still to sign, or withdraw it.",
        discussion: """
            The app signs requests with its next exchange, in their order. One that it refuses goes, and the app's log says why; one that it cannot \
            fulfil yet, because a file is missing or the disk is full, stays. Exit status 0, also if there are none; 64 if there is no request to \
            withdraw.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("Withdraw the request with this number.", valueName: "number"))
    var withdraw: Int64?

    @Flag(help: "Print a JSON object a line: number, request; with --withdraw one object: store, withdrawn (the number).")
    var json = false

    func run() async throws {
        if let withdraw {
            let store = try store.open(readOnly: false)
            try ScopeRequest.withdraw(withdraw, from: store)
            if json { try printJSON(Withdrawn(store: store.file.string, withdrawn: withdraw)) } else { print("Withdrawn.") }
            return
        }
        for waiting in try store.look({ try ScopeRequest.waiting(in: $0) }) {
            let words = waiting.request?.words ?? "a request of a newer version"
            if json { try printJSON(Line(number: waiting.number, request: words)) } else { print("\(waiting.number)  \(words)".printable) }
        }
    }

    private struct Line: Encodable {
        var number: Int64
        var request: String
    }

    private struct Withdrawn: Encodable {
        var store: String
        var withdrawn: Int64
    }
}
