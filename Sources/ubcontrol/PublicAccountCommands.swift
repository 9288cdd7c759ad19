import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The identifier of a public container on the command line.
struct PublicContainerArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The container's identifier, as `ubcontrol public create` printed it.", valueName: "container"))
    var container: String

    func validate() throws {
        if ScopeIdentifier(container) == nil {
            throw ValidationError("“\(container)” is no identifier of a public container, which has 52 letters and digits.")
        }
    }

    var identifier: ScopeIdentifier { ScopeIdentifier(container)! }
}

/// The directory of a public container on the command line.
struct PublicPlaceOptions: ParsableArguments {
    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "The directory that holds public/<container>.", discussion: "By default the one that this device has used.", valueName: "dir"),
        completion: .directory)
    var root: String?

    @OptionGroup var home: HomeOptions

    /// Returns the registration in a container's directory.
    func registration(in container: PublicContainerArgument) throws -> ScopeRegistration {
        let home = try home.deviceHome
        if let root { return ScopeRegistration(home: home, root: FilePath(root)) }
        guard let record = try DeviceKeys(container.identifier, in: home).record else {
            throw Refusal("This device has not used the container \(container.container); name its directory with --at.")
        }
        return ScopeRegistration(home: home, root: FilePath(record.root))
    }
}

/// Runs `ubcontrol account create`.
struct AccountCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create an account in a public container, with this device as its first.",
        discussion: """
            The account's key stays on this device, in scopes/<container>/identity.key of the device home. Keep a copy: it alone removes a stolen \
            device. An app that has the container open begins to write as the account.
            """
    )

    @OptionGroup var container: PublicContainerArgument

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object: container, account, device.")
    var json = false

    func run() async throws {
        let registration = try place.registration(in: container)
        let account = try registration.createAccount(in: container.identifier)
        let device = try registration.keys(container.identifier).record?.peer ?? ""
        if json { return try printJSON(["container": container.container, "account": account.description, "device": device]) }
        print(account)
    }
}

/// Runs `ubcontrol account recover`.
struct AccountRecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Give this device an account in a public container again, with the account's key that you have kept.",
        discussion: """
            After the loss of all devices of the account: --key is a copy of identity.key, or - for standard input. This device is enrolled and can \
            write as the account. Remove the lost devices with `ubcontrol account revoke`.
            """
    )

    @OptionGroup var container: PublicContainerArgument

    @Option(help: ArgumentHelp("The file with the account's key, or - for standard input.", valueName: "file"), completion: .file())
    var key: String

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object: container, account, device.")
    var json = false

    func run() async throws {
        let input = key == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: key)
        guard let bytes = try input?.readToEnd() ?? (input == nil ? nil : Data()) else {
            throw Refusal("\(key) cannot be read; name the copy of identity.key.".printable)
        }
        guard let identity = KeyFile.key([UInt8](bytes)) else {
            throw Refusal("\(key) holds no key of 52 letters and digits; name the copy of identity.key.".printable)
        }
        let registration = try place.registration(in: container)
        let account = try registration.recoverAccount(identity, in: container.identifier)
        let device = try registration.keys(container.identifier).record?.peer ?? ""
        if json { return try printJSON(["container": container.container, "account": account.description, "device": device]) }
        print(account)
    }
}

/// Runs `ubcontrol account enrol`.
struct AccountEnrolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract: "Prepare this device for an account in a public container, and print the code with which another device admits it.",
        discussion: "The code holds no secret. On a device that has the account, `ubcontrol account admit` takes it."
    )

    @OptionGroup var container: PublicContainerArgument

    @Option(help: ArgumentHelp("The account, as `ubcontrol account create` printed it.", valueName: "account"))
    var account: String

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object: container, account, device, code.")
    var json = false

    func run() async throws {
        guard let identifier = AccountIdentifier(account) else {
            throw ValidationError("“\(account)” is no identifier of an account, which has 52 letters and digits.")
        }
        let code = try place.registration(in: container).prepareDevice(of: identifier, in: container.identifier)
        if json {
            return try printJSON([
                "container": container.container, "account": account, "device": code.device.description, "code": code.description,
            ])
        }
        print(code)
    }
}

/// Runs `ubcontrol account admit`.
struct AccountAdmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admit",
        abstract: "Admit another device to this device's account in a public container.",
        discussion: "Whoever has the code's device can write as this account. Compare the code with the one that the device shows."
    )

    @OptionGroup var container: PublicContainerArgument

    @Argument(help: ArgumentHelp("The code that `ubcontrol account enrol` printed on the other device.", valueName: "code"))
    var code: String

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object: container, device.")
    var json = false

    func run() async throws {
        guard let code = DeviceCode(code) else {
            throw ValidationError("“\(code)” is no code of a device; copy the whole line that `ubcontrol account enrol` printed.")
        }
        try place.registration(in: container).admit(code, in: container.identifier)
        if json { return try printJSON(["container": container.container, "device": code.device.description]) }
        print("Admitted \(code.device).")
    }
}

/// Runs `ubcontrol account devices`.
struct AccountDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the devices of this device's account in a public container.",
        discussion: "Exit status 1 if this device has no account there."
    )

    @OptionGroup var container: PublicContainerArgument

    @OptionGroup var place: PublicPlaceOptions

    @Flag(help: "Print a JSON object a line: device, key, isOwn.")
    var json = false

    func run() async throws {
        let registration = try place.registration(in: container)
        let record = try registration.keys(container.identifier).record
        guard let account = record?.account.flatMap(AccountIdentifier.init) else {
            throw Refusal("This device has no account in the container; create one with: ubcontrol account create \(container.container)")
        }
        let devices = try registration.devices(of: account, in: container.identifier)
        for (device, key) in devices.sorted(by: { $0.key < $1.key }) {
            let isOwn = device.description == record?.peer
            if json {
                try printJSON(Device(device: device.description, key: key.description, isOwn: isOwn))
            } else {
                print("\(device)\(isOwn ? "  this device" : "")")
            }
        }
    }

    private struct Device: Encodable {
        var device: String
        var key: String
        var isOwn: Bool
    }
}

/// Runs `ubcontrol account revoke`.
struct AccountRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Ask the app to remove a device of this device's account, such as a stolen one.",
        discussion: """
            The app, which has the schema, does it with its next exchange: it writes what remains of the account's records, and signs a statement \
            without the device and those that it has enrolled. What this store has of their records stays, except what --take-back names; later \
            logs of theirs have no effect.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The device; see `ubcontrol account devices`.", valueName: "device"))
    var device: String

    @OptionGroup var takeBack: TakeBackOption

    @OptionGroup var confirmation: ConfirmOption

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws {
        guard let peer = PeerIdentifier(device) else { throw ValidationError("“\(device)” is no device's name.") }
        try confirmation.confirm("\(peer) will not write as this account any more, and its name is never used again.")
        try store.ask(.revoke(peer, takingBack: takeBack.takingBack), json: json)
    }
}

extension ScopeRequest {
    static let jsonHelp: ArgumentHelp = "Print a JSON object: store, asked (the request)."
}

extension StoreArgument {
    /// Stores a request for the app about the container's statements.
    func ask(_ request: ScopeRequest, json: Bool) throws {
        let store = try open(readOnly: false)
        try request.ask(store)
        if json {
            try printJSON(["store": store.file.string, "asked": request.words])
        } else {
            print("The app does it with its next exchange, at once if it runs.")
        }
    }
}
