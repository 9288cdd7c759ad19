import Foundation
import UbiquityContainers

/// The transfer agent of a device home as a service of the user's systemd.
///
/// The unit names no home: it serves the one that a program finds by itself at login, and no other.
struct AgentUnit: Sendable {
    private let unit = UserUnit.agent

    /// Finds the unit; nil if the user's systemd does not run, does not know the unit, or runs it for another home.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - environment: this process's variables.
    init?(for home: DeviceHome, environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard unit.isKnown, let variables = UserUnit.variables else { return nil }
        // A variable of a shell is none of the user's systemd.
        var login = environment
        for name in ["UBIQUITY_HOME", "XDG_DATA_HOME"] { login[name] = variables[name] }
        guard let usual = try? DeviceHome.standard(environment: login), usual == home else { return nil }
    }

    /// The unit's full name.
    var name: String { unit.name }

    /// Starts the agent, now and at each login, and returns when it is ready; or stops it.
    ///
    /// - Throws: `SetupError` with the reason.
    func set(isOn: Bool) throws { try unit.set(isOn: isOn) }

    /// What to do if the unit has failed; nil if it has not.
    var failure: String? {
        guard unit.hasFailed else { return nil }
        return "the service \(unit.shortName) has failed; read why with: journalctl --user -u \(unit.shortName), "
            + "and then start it again with: systemctl --user restart \(unit.shortName)"
    }
}
