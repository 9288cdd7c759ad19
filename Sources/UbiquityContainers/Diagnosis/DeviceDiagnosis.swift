package import FileCoordination
package import SystemPackage

/// A look at all that this device keeps of accounts and containers; it writes nothing, and waits for nobody.
package struct DeviceDiagnosis: Sendable {
    package var home: HomeFacts
    package var root: RootFacts?
    package var containers: [ContainerFacts] = []
    package var broker: BrokerCondition
    /// What was found in the containers' directories.
    package var items: [Finding] = []
    /// Why the containers cannot be listed.
    package var fault: ContainerError?

    /// Looks.
    ///
    /// - Parameters:
    ///   - home: a device home, which need not be there.
    ///   - broker: asks the broker of this user.
    ///   - progress: is told each directory that is looked into.
    package init(
        of home: DeviceHome, broker: () -> BrokerCondition = { BrokerControl().condition() }, progress: (FilePath) -> Void = { _ in }
    ) {
        self.home = HomeFacts(of: home)
        self.broker = broker()
        guard let account = self.home.account else { return }
        root = RootFacts(of: account)
        do throws(ContainerError) {
            containers = try KnownContainer.list(in: home).map { ContainerFacts(of: $0, account: account) }
        } catch {
            // What is wrong with the home's files is told there.
            if self.home.findings.isSound { fault = error }
        }
        for container in containers where container.place.kind == .directory {
            // Links are compared with where it really lies.
            DirectoryFacts.walk(PathFacts.real(container.place.path) ?? container.place.path) { directory, isLocal in
                progress(directory.path)
                root?.directories += 1
                if !isLocal { items += directory.findings }
                return []
            }
        }
    }

    /// All that is worth knowing, in the order in which one thing rests on another.
    package var findings: [Finding] {
        var found = home.findings + (root?.findings ?? [])
        if let fault { found.append(Finding(.fault, .container, fault.path, message: fault.message, cause: fault.cause)) }
        return found + containers.flatMap(\.findings) + items + broker.findings
    }
}

extension BrokerCondition {
    /// What is wrong with the broker.
    package var findings: [Finding] {
        switch self {
        case .absent: []
        case .stale(let socket):
            [Finding(.remark, .broker, socket, "the socket is of a broker that has ended", "nothing: the next program that coordinates replaces it")]
        case .running(let report):
            report.clients.filter(\.isStopped).map { client in
                Finding(
                    .warning, .broker, nil, "process \(client.process) (\(client.name)) is stopped, and others may wait for it",
                    "let it go on, with kill -CONT, or end it")
            }
        case .unusable(let error):
            [Finding(.fault, .broker, error.path, error.description, "see `ubcontrol broker status`; programs that coordinate fail until then")]
        }
    }
}
