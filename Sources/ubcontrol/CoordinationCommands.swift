import ArgumentParser
import FileCoordination
import Foundation
import SystemPackage
import ToolSupport

/// The option that all commands about coordination have.
struct BrokerOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false
}

/// Runs `ubcontrol claims`.
struct ClaimsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims",
        abstract: "List the accesses to files, and the accesses that wait for others.",
        discussion: """
            Lists every coordinated access of this user's processes: the process, the purpose, how long the access has waited or run, and for whom \
            it waits. Without a broker, no coordination between processes takes place, and the list is empty. JSON: {"claims": [{process, program, \
            stopped, state, purpose, age, items: [{path, access}], waits_for: [{kind, process, purpose, paths, activity}]}]}.

            Exit status: 0, or 69 when the broker does not answer.
            """)

    @OptionGroup var options: BrokerOptions

    func run() throws {
        let listing = try Listing(reachingBroker { try BrokerControl().listing() })
        guard !options.json else { return try printJSON(["claims": listing.claims]) }
        if listing.claims.isEmpty { print("No process accesses a file.") }
        for claim in listing.claims { print(claim.text) }
    }
}

/// Runs `ubcontrol presenters`.
struct PresentersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presenters",
        abstract: "List the presenters of files, and the messages that they have not answered.",
        discussion: """
            JSON: {"presenters": [{process, program, stopped, path, unanswered: [{message, age, awaited}]}]}.

            Exit status: 0, or 69 when the broker does not answer.
            """)

    @OptionGroup var options: BrokerOptions

    func run() throws {
        let listing = try Listing(reachingBroker { try BrokerControl().listing() })
        guard !options.json else { return try printJSON(["presenters": listing.presenters]) }
        if listing.presenters.isEmpty { print("No process presents a file.") }
        for presenter in listing.presenters { print(presenter.text) }
    }
}

/// Runs `ubcontrol why`.
struct WhyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Show the obstacles to an access to a file.",
        discussion: """
            Lists the accesses to the file, to directories around it and to its contents, and its presenters that have not answered. JSON: \
            {"claims": [as of `ubcontrol claims`], "presenters": [as of `ubcontrol presenters`]}.

            Exit status: 0 when nothing blocks an access, 1 when something does, 69 when the broker does not answer.
            """)

    @Argument(help: "A file or directory; it need not exist.", completion: .file())
    var path: String

    @OptionGroup var options: BrokerOptions

    func run() throws {
        let listing = try reachingBroker { try BrokerControl().listing() } ?? CoordinationSnapshot(claims: [], presenters: [])
        let (path, concerned) = try listing.concerning(URL(fileURLWithPath: path))
        var found = Listing(concerned)
        found.presenters.removeAll { $0.unanswered.isEmpty }
        let isFree = found.claims.isEmpty && found.presenters.isEmpty
        if options.json {
            try printJSON(found)
        } else if isFree {
            print("Nothing is in the way of an access to \(path).")
        } else {
            for claim in found.claims { print(claim.text) }
            for presenter in found.presenters { print(presenter.text) }
        }
        if !isFree { throw ExitCode(1) }
    }
}

/// Ends with EX_UNAVAILABLE of sysexits.h when the broker cannot be asked.
func reachingBroker<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let error as FileCoordinationError {
        throw Refusal("\(error)", status: ToolExit.unavailable)
    }
}

// MARK: Output

/// A listing in its printed form.
private struct Listing: Encodable {
    var claims: [Claim]
    var presenters: [Presenter]

    struct Claim: Encodable {
        let process: Int32
        let program: String
        let stopped: Bool
        let state: String
        let purpose: String
        let age: Double
        let items: [Item]
        let waitsFor: [Wait]

        enum CodingKeys: String, CodingKey {
            case process, program, stopped, state, purpose, age, items
            case waitsFor = "waits_for"
        }
    }

    struct Item: Encodable {
        let path: String
        let access: String
    }

    struct Wait: Encodable {
        let kind: String
        let process: Int32
        let purpose: String
        let paths: [String]
        let activity: String
    }

    struct Presenter: Encodable {
        let process: Int32
        let program: String
        let stopped: Bool
        let path: String?
        let unanswered: [Message]
    }

    struct Message: Encodable {
        let message: String
        let age: Double
        let awaited: Bool
    }

    init(_ snapshot: CoordinationSnapshot?) {
        claims = (snapshot?.claims ?? []).map { claim in
            Claim(
                process: claim.process, program: claim.processName, stopped: claim.isStopped, state: claim.state.rawValue, purpose: claim.purpose,
                age: claim.age / .seconds(1),
                items: claim.items.map { Item(path: $0.path.string, access: claim.isPreparation ? "prepare" : $0.writes ? "write" : "read") },
                waitsFor: claim.waitsFor.map {
                    Wait(kind: $0.kind.rawValue, process: $0.process, purpose: $0.purpose, paths: $0.paths.map(\.string), activity: $0.activity)
                })
        }
        presenters = (snapshot?.presenters ?? []).map { presenter in
            Presenter(
                process: presenter.process, program: presenter.processName, stopped: presenter.isStopped, path: presenter.path?.string,
                unanswered: presenter.unanswered.map { Message(message: $0.name, age: $0.age / .seconds(1), awaited: $0.isAwaited) })
        }
    }
}

private func seconds(_ age: Double) -> String { String(format: "%.1f s", age) }

extension Listing.Claim {
    var text: String {
        let what = items.map { "\($0.access) \($0.path)" }.joined(separator: ", ")
        var text = "\(state) \(seconds(age)): \(what), by process \(process) (\(program))\(stopped ? ", which is stopped," : "") for \(purpose)"
        for wait in waitsFor {
            text += "\n    waits for \(wait.activity) of \(wait.paths.joined(separator: ", ")) by process \(wait.process) for \(wait.purpose)"
        }
        return text
    }
}

extension Listing.Presenter {
    var text: String {
        var text = "\(path ?? "nothing yet"), by process \(process) (\(program))\(stopped ? ", which is stopped" : "")"
        for message in unanswered {
            text +=
                "\n    has not answered \(message.message) for \(seconds(message.age))\(message.awaited ? ", and another access waits for it" : "")"
        }
        return text
    }
}
