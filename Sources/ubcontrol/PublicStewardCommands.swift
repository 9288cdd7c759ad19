import ArgumentParser
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol public limit`.
struct PublicLimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Ask the steward's app to limit what one account may fill.",
        discussion: """
            Each device shows the first records of an account in a table, in the order of their keys, up to --records. Logs of a device with numbers \
            above --logs have no effect if they name the new policy.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The number of logs of a device.", valueName: "number"))
    var logs: Int64?

    @Option(help: ArgumentHelp("The number of records of an account that a table shows.", valueName: "number"))
    var records: Int64?

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func validate() throws {
        if logs == nil, records == nil { throw ValidationError("Give a limit with --logs or --records.") }
        for limit in [logs, records].compactMap(\.self) where limit < 0 { throw ValidationError("A limit is a number from 0.") }
    }

    func run() async throws { try store.ask(.limit(logs: logs, records: records), json: json) }
}

/// Runs `ubcontrol public admission`.
struct PublicAdmissionCommand: AsyncParsableCommand {
    /// Which accounts contribute.
    enum Who: String, ExpressibleByArgument, CaseIterable { case open, registrars }

    static let configuration = CommandConfiguration(
        commandName: "admission",
        abstract: "Ask the steward's app to let all accounts contribute, or those that registrars admit.",
        discussion: """
            With “registrars”, nobody shows the records of an account until a registrar has admitted it. `ubcontrol public registrar` prints the key \
            of a registrar.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "Who contributes: open, or registrars.")
    var who: Who

    @Option(
        name: .customLong("key"), help: ArgumentHelp("The public key of a registrar. May be given more than once.", valueName: "key"))
    var keys: [String] = []

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func validate() throws {
        if who == .open, !keys.isEmpty { throw ValidationError("“open” admits everybody, and takes no --key.") }
        if who == .registrars, keys.isEmpty { throw ValidationError("Name each registrar's key with --key.") }
        _ = try PublicKeys.parse(keys)
    }

    func run() async throws {
        try store.ask(.admission(who == .open ? .open : .registrars(Set(try PublicKeys.parse(keys)))), json: json)
    }
}

/// Public keys on the command line.
enum PublicKeys {
    static func parse(_ texts: [String]) throws -> [PublicKey] {
        try texts.map { text in
            guard let key = PublicKey(text) else { throw ValidationError("“\(text)” is no public key, which has 52 letters and digits.") }
            return key
        }
    }
}

/// Runs `ubcontrol public registrar`.
struct PublicRegistrarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrar",
        abstract: "Print the public key with which this device home admits accounts, and make the key at the first use.",
        discussion: "The secret is scopes/registrar.key of the device home. A policy names the public key: see `ubcontrol public admission`."
    )

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: key.")
    var json = false

    func run() async throws {
        let key = try HomeKeys(try home.deviceHome).publicKey(.registrar)
        if json { try printJSON(["key": key.description]) } else { print(key) }
    }
}

/// Runs `ubcontrol public heir`.
struct PublicHeirCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heir",
        abstract: "Print the public key with which this device home succeeds an owner, and make the key at the first use.",
        discussion: """
            The secret is scopes/heir.key of the device home. `ubcontrol public create --heir KEY` names it, and `ubcontrol public succeed` uses it \
            if the owner's identity key is lost.
            """
    )

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: key.")
    var json = false

    func run() async throws {
        let key = try HomeKeys(try home.deviceHome).publicKey(.heir)
        if json { try printJSON(["key": key.description]) } else { print(key) }
    }
}

/// Runs `ubcontrol public admit`.
struct PublicAdmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admit",
        abstract: "Admit an account to a public container, as its registrar.",
        discussion: "An admittance is not taken back; block the account instead. Admitting it again changes nothing."
    )

    @OptionGroup var container: PublicContainerArgument

    @OptionGroup var account: AccountArgument

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object: container, account.")
    var json = false

    func run() async throws {
        try place.registration(in: container).admitAccount(account.identifier, in: container.identifier)
        if json { return try printJSON(["container": container.container, "account": account.account]) }
        print("Admitted \(account.account).")
    }
}

/// Runs `ubcontrol public succeed`.
struct PublicSucceedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "succeed",
        abstract: "Ask the app to make this device the steward, after the steward's device was lost or stolen.",
        discussion: """
            This device must have the identity key of the container's owner, or the key of an heir, who becomes the owner. Its policy begins a term, \
            which holds before all policies of earlier terms. --after names the last policy that counts: what a thief has signed later is void.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The hash of the last policy that counts; by default the one in effect.", valueName: "policy"))
    var after: String?

    @OptionGroup var confirmation: ConfirmOption

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func validate() throws {
        if let after, ContentHash(hexadecimal: after) == nil {
            throw ValidationError("“\(after)” is no hash of a policy: 64 hexadecimal digits, as in the name of its file.")
        }
    }

    func run() async throws {
        try confirmation.confirm("Another device will not sign policies any more.")
        try store.ask(.succeed(after: after.flatMap { ContentHash(hexadecimal: $0) }.map(StatementIdentifier.init)), json: json)
    }
}
