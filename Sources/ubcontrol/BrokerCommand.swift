import ArgumentParser
import FileCoordination
import Foundation
import ToolSupport

/// Runs `ubcontrol broker`.
struct BrokerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broker",
        abstract: "Look at the broker of coordinated accesses, or end it.",
        discussion: "Programs start the broker when they need it. Each user has one.",
        subcommands: [StatusCommand.self, StopCommand.self])

    /// Runs `ubcontrol broker status`.
    struct StatusCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Say where the broker runs, and who is connected.",
            discussion: """
                JSON: {broker: null or {process, isResident, version, epoch, age, claims, presenters, clients: [{process, name, isStopped, \
                delegated}]}}. The epoch grows with each new broker. A process decides about its delegated directories itself, and claims does not \
                count its accesses.

                Exit status: 0, 1 when no broker runs, 69 when it does not answer.
                """)

        @OptionGroup var options: BrokerOptions

        func run() throws {
            let report = try reachingBroker { try BrokerControl().status() }
            if options.json {
                try printJSON(Output(broker: report))
            } else if let report {
                let kind = report.isResident ? "the program ubiquityd" : "hosted by a program that coordinates"
                print("Broker: process \(report.process), \(kind), for \(Int(report.age)) s; epoch \(report.epoch), protocol \(report.version)")
                print("\(counted(report.claims, "claim")), \(counted(report.presenters, "presenter"))")
                for client in report.clients {
                    let delegated = client.delegated.isEmpty ? "" : ", decides its own accesses below \(client.delegated.joined(separator: ", "))"
                    print("process \(client.process) (\(client.name))\(client.isStopped ? ", stopped" : "")\(delegated)")
                }
            } else {
                print("No broker runs.")
            }
            if report == nil { throw ExitCode(1) }
        }

        private struct Output: Encodable {
            let broker: BrokerReport?

            enum CodingKeys: String, CodingKey { case broker }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(broker, forKey: .broker)
            }
        }
    }

    /// Runs `ubcontrol broker stop`.
    struct StopCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop",
            abstract: "End the broker.",
            discussion: """
                Connected programs start another broker at once and keep their claims. This command therefore replaces the broker, for example \
                after an update, and interrupts no program.

                Exit status: 0, 1 when no broker runs, 69 when it does not answer.
                """)

        @Flag(help: "Print a JSON object: stopped.")
        var json = false

        func run() throws {
            let stopped = try reachingBroker { try BrokerControl().stop() }
            if json {
                try printJSON(["stopped": stopped])
            } else {
                print(stopped ? "The broker has left." : "No broker runs.")
            }
            if !stopped { throw ExitCode(1) }
        }
    }
}
