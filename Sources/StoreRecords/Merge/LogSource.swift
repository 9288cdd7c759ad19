package import StoreFormat
package import UbiquityContainers

/// Reads a log again that was whole when an import was planned.
package protocol LogSource {
    /// Reads a log whole and checks it.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - peer: the peer in whose directory it lies.
    ///   - clock: the highest stamp seen so far.
    /// - Returns: the log.
    /// - Throws: `LogFault` where the file can never be used as it is; `Errno` where it cannot be read now.
    func read(_ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime) throws -> ReadyLog
}

/// Reads a large value again that was whole when an import was planned.
package protocol LargeValueSource {
    /// Reads a value.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - peers: the peers under whose identifiers it may lie.
    /// - Returns: its bytes; nil where it is not there whole.
    /// - Throws: `Errno` where this process cannot read anything now.
    func whole(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> [UInt8]?
}
