import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The services under a real manager of a user's systemd and a real journal, in namespaces of their own.
struct UserManagerTests {
    /// Prepares a system with a journal and a user's manager, which knows the units with the programs of this build.
    private static let preamble = #"""
        mount -t tmpfs tmpfs /run
        export XDG_RUNTIME_DIR=/run/user/0
        mkdir -p /run/systemd/system /run/systemd/journal /run/log/journal $XDG_RUNTIME_DIR "$HOME/.config/systemd/user" "$HOME/shared" "$HOME/cloud"
        chmod 700 $XDG_RUNTIME_DIR
        # A busy machine may take long for what takes a moment.
        mkdir /run/systemd/user.conf.d
        printf '[Manager]\nDefaultTimeoutStartSec=600\nDefaultTimeoutStopSec=600\n' >/run/systemd/user.conf.d/patient.conf
        unset UBIQUITY_HOME XDG_DATA_HOME XDG_CONFIG_HOME NOTIFY_SOCKET JOURNAL_STREAM DBUS_SESSION_BUS_ADDRESS
        # Whether something is so, asked until it is, for as long as the test gives.
        await() { until "$@" >/dev/null 2>&1; do sleep 0.1; done; }
        # The journal needs a machine's identifier, which a container may lack.
        mount --bind "$HOME/machine-id" /etc/machine-id
        /lib/systemd/systemd-journald >/dev/null 2>&1 &
        await test -S /run/systemd/journal/socket
        for unit in ubtransfer.service ubwatch.service ubiquityd.service ubiquityd.socket; do
            sed -E "s#^ExecStart=(ub[a-z]+)#ExecStart=$PROGRAMS/\1#" "$UNITS/$unit" >"$HOME/.config/systemd/user/$unit"
        done
        /lib/systemd/systemd --user --log-target=journal &
        await systemctl --user show-environment
        is() { test "$(systemctl --user show --property "$2" --value "$1")" = "$3"; }
        says() { systemctl --user show --property StatusText --value "$1" | grep "$2"; }
        say() { echo "$1: $(systemctl --user show --property "$3" --value "$2")"; }
        journal() { journalctl --directory=/run/log/journal --output=json --no-pager "$@"; }

        """#

    /// Runs a script in that system, and returns its lines.
    private static func run(_ script: String) async throws -> [String] {
        for program in ["/lib/systemd/systemd", "/lib/systemd/systemd-journald", "/usr/bin/unshare"] {
            try #require(FileManager.default.isExecutableFile(atPath: program), "\(program) is missing: Tools/setup --tests installs systemd")
        }
        let home = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-manager-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: home.string) }
        let machine = UUID().uuidString.replacing("-", with: "").lowercased()
        try Data("\(machine)\n".utf8).write(to: URL(filePath: home.appending("machine-id").string))
        let programs = Tool.path("ubcontrol").removingLastComponent().string
        // The manager ends with the namespace of its processes, whatever happens.
        let outcome = try await Tool.run(
            "/usr/bin/unshare",
            ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--cgroup", "/bin/bash", "-euo", "pipefail", "-c", preamble + script],
            environment: [
                "HOME": home.string, "UNITS": packageDirectory.appending("Tools/systemd").string, "PROGRAMS": programs,
                "PATH": "\(programs):/usr/bin:/bin",
            ])
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test(
        "I-02: under a user's systemd the agent is started by setup, ready when it answers, started again when it is killed, and stops; the journal has fields",
        .enabled(if: geteuid() == 0))
    func agent() async throws {
        let lines = try await Self.run(
            #"""
            ubcontrol sign-in alice --containers "$HOME/shared" >/dev/null
            ubcontrol setup cloud "$HOME/cloud" --yes >/dev/null
            say started ubtransfer ActiveState
            say enabled ubtransfer UnitFileState
            ubcontrol transfer status >/dev/null
            await says ubtransfer "^alice: up to date"
            first=$(systemctl --user show --property MainPID --value ubtransfer)
            kill -KILL "$first"
            await is ubtransfer NRestarts 1
            await is ubtransfer ActiveState active
            test "$(systemctl --user show --property MainPID --value ubtransfer)" != "$first"
            say again ubtransfer ActiveState
            ubcontrol transfer status >/dev/null
            systemctl --user restart ubtransfer
            say restarted ubtransfer ActiveState
            systemctl --user stop ubtransfer
            say stopped ubtransfer ActiveState
            say result ubtransfer Result
            # What does not exist cannot be carried: the agent logs that it stops.
            mv "$HOME/cloud" "$HOME/away"
            systemctl --user start ubtransfer
            await sh -c 'journalctl --directory=/run/log/journal --no-pager --quiet SYSLOG_IDENTIFIER=ubtransfer UBIQUITY_ACCOUNT=alice | grep -q .'
            journal SYSLOG_IDENTIFIER=ubtransfer UBIQUITY_ACCOUNT=alice | sed -n 1p
            ubcontrol setup undo --yes >/dev/null
            say undone ubtransfer ActiveState
            say disabled ubtransfer UnitFileState
            """#)
        let said = lines.filter { !$0.hasPrefix("{") }
        #expect(
            said == [
                "started: active", "enabled: enabled", "again: active", "restarted: active", "stopped: inactive",
                "result: success", "undone: inactive", "disabled: disabled",
            ], "\(said)")
        let entry = try #require(lines.first { $0.hasPrefix("{") })
        let fields = try #require(JSONSerialization.jsonObject(with: Data(entry.utf8)) as? [String: Any])
        #expect(fields["UBIQUITY_ACCOUNT"] as? String == "alice" && fields["MESSAGE"] is String, "\(fields)")
        #expect(fields["PRIORITY"] as? String != nil && fields["_TRANSPORT"] as? String == "journal", "\(fields)")
        #expect(fields["_SYSTEMD_USER_UNIT"] as? String == "ubtransfer.service" || fields["_COMM"] as? String == "ubtransfer", "\(fields)")
    }

    @Test(
        "I-02: under a user's systemd the broker is started by its socket, and the page's server is ready when it serves, restarts and stops",
        .enabled(if: geteuid() == 0))
    func others() async throws {
        let lines = try await Self.run(
            #"""
            ubcontrol sign-in alice --containers "$HOME/shared" >/dev/null
            systemctl --user start ubiquityd.socket
            say broker ubiquityd.service ActiveState
            ubcontrol presenters --json >/dev/null
            say called ubiquityd.service ActiveState
            systemctl --user start ubwatch
            say page ubwatch ActiveState
            say says ubwatch StatusText
            systemctl --user restart ubwatch
            say restarted ubwatch ActiveState
            systemctl --user stop ubwatch ubiquityd.socket ubiquityd.service
            say stopped ubwatch Result
            say gone ubiquityd.service Result
            say inactive ubiquityd.service ActiveState
            """#)
        let others = lines.filter { !$0.hasPrefix("says: ") }
        #expect(
            others == [
                "broker: inactive", "called: active", "page: active", "restarted: active", "stopped: success", "gone: success",
                "inactive: inactive",
            ], "\(lines)")
        #expect(lines.contains { $0.contains(/^says: .*port \d+/) }, "\(lines)")
    }
}
