import ArgumentParser
import Foundation
import Rainbow
import SystemPackage
import UbiquityStores

/// Runs `ubwatch status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show a container's stores, their peers, and who lacks how many logs of whom.",
        discussion: "Reads files only: it writes, coordinates and downloads nothing."
    )

    @Argument(help: "The container: <containers root>/<account>/<container identifier>.", completion: .directory)
    var container: String

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let survey = try ContainerSurvey(of: FilePath(container))
        if json {
            print(try JSONOutput.line(survey))
        } else {
            print(survey.text)
        }
    }
}

extension ContainerSurvey {
    /// The survey for people.
    fileprivate var text: String {
        var lines = [
            "\(container.bold) of \(account.bold)", "  \(path)", "  attached: \(attached.isEmpty ? "nobody" : attached.joined(separator: ", "))",
        ]
        if stores.isEmpty { lines.append("  no stores") }
        for store in stores {
            lines.append("")
            lines.append("store \(store.name.printable.bold), epoch \(store.epoch): \(Self.amount(store.logs, store.bytes))")
            for peer in store.peers {
                let device = [peer.device, peer.app].compactMap { $0?.printable }.joined(separator: ", ")
                let seen = peer.seen.map { "receipt of \($0.formatted(.iso8601))" } ?? "no receipt"
                lines.append("  \(peer.peer)\(device.isEmpty ? "" : " (\(device))")")
                lines.append("    wrote \(Self.amount(peer.logs, peer.bytes)), the last \(peer.last); \(seen)")
                for lag in peer.knowledge {
                    let state = lag.behind == 0 ? "current".green : "\(lag.behind) behind".yellow
                    lines.append("    has read \(lag.read) of \(lag.peer): \(state)")
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func amount(_ logs: Int, _ bytes: Int64) -> String {
        "\(logs) \(logs == 1 ? "log" : "logs"), \(bytes.formatted(.byteCount(style: .file)))"
    }
}
