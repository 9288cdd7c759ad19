import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol sign-in`.
struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Sign in to an account on this device.",
        discussion: """
            Signing in signs out any other account first; nothing of that account is deleted.

                ubcontrol sign-in alice --containers ROOT
            """
    )

    @Argument(help: "The account, such as alice@example.org.")
    var account: String

    @Option(
        help: ArgumentHelp(
            "The directory of the account's containers; it must exist, for example as a folder of Syncthing.",
            discussion: "By default the account's previous directory, or “containers” in the device home.", valueName: "dir"),
        completion: .directory)
    var containers: String?

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: account, containers, before (who was signed in).")
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let name = try AccountName(account)
        let before = try await home.signIn(name, containers: containers.map { FilePath($0) }, tellingWithin: .seconds(10))
        if json {
            return try printJSON(Report(account: name.description, containers: try home.containersRoot?.string ?? "", before: before?.description))
        }
        if let before { print("Signed out of \(before).") }
        print("Signed in to \(name); containers lie in \(try home.containersRoot?.string ?? "").")
    }

    private struct Report: Encodable {
        var account: String
        var containers: String
        var before: String?
    }
}

/// Runs `ubcontrol sign-out`.
struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "Sign out on this device. Nothing is deleted.",
        discussion: "Exit status 0, also if no account was signed in."
    )

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: before (who was signed in).")
    var json = false

    func run() async throws {
        let before = try await options.deviceHome.signOut(tellingWithin: .seconds(10))
        if json {
            try printJSON(Report(before: before?.description))
        } else if let name = before {
            print("Signed out of \(name).")
        } else {
            print("No account was signed in.")
        }
    }

    private struct Report: Encodable {
        var before: String?
    }
}

/// Groups the commands about accounts.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Show the account that is signed in, and manage accounts in public containers.",
        discussion: """
            An account in a public container is a key, and lives only there: `ubcontrol account create` makes it on a first device. On a second, \
            `ubcontrol account enrol` prints a code, which `ubcontrol account admit` takes on the first.
            """,
        subcommands: [
            AccountShowCommand.self, AccountCreateCommand.self, AccountEnrolCommand.self, AccountAdmitCommand.self, AccountDevicesCommand.self,
            AccountRevokeCommand.self, AccountRecoverCommand.self,
        ],
        defaultSubcommand: AccountShowCommand.self
    )
}

/// Runs `ubcontrol account show`.
struct AccountShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the account that is signed in.",
        discussion: "Exit status 1 while signed out."
    )

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: home, account (null while signed out), containers.")
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let account = try home.account
        let root = try home.containersRoot
        if json {
            try printJSON(Report(home: home.path.string, account: account?.description, containers: root?.string))
        } else if let account, let root {
            print("\(account), containers in \(root)")
        } else {
            print("Signed out.")
        }
        if account == nil { throw ExitCode(1) }
    }

    private struct Report: Encodable {
        var home: String
        var account: String?
        var containers: String?

        enum CodingKeys: String, CodingKey { case home, account, containers }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(home, forKey: .home)
            try container.encode(account, forKey: .account)
            try container.encode(containers, forKey: .containers)
        }
    }
}
