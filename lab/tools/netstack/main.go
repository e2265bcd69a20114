// netstack: a TCP receiver whose stack is gVisor's, on a packet socket at eth0, whose host holds no address.
//
//	netstack PORT address=IP peer=IP peer_mac=MAC [rcvbuf=BYTES] [name=value ...]
//
// It reads as fast as data come. With rcvbuf, the receive buffer stays as it is set.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const nic = 1

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// checkStack is for the stack's own errors, whose nil is no nil error.
func checkStack(err tcpip.Error) {
	if err != nil {
		log.Fatal(err)
	}
}

func options(words []string) map[string]string {
	named := map[string]string{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		named[name] = value
	}
	return named
}

// packets returns a packet socket at the interface: what arrives there, and what is sent.
func packets(link *net.Interface) int {
	every := uint16(syscall.ETH_P_ALL>>8 | syscall.ETH_P_ALL<<8&0xff00)
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_NONBLOCK, int(every))
	check(err)
	check(syscall.Bind(fd, &syscall.SockaddrLinklayer{Protocol: every, Ifindex: link.Index}))
	check(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, 16<<20))
	return fd
}

func address(text string) tcpip.Address {
	return tcpip.AddrFrom4Slice(net.ParseIP(text).To4())
}

// started returns a stack that holds the address at eth0.
func started(named map[string]string) *stack.Stack {
	link, err := net.InterfaceByName("eth0")
	check(err)
	endpoint, err := fdbased.New(&fdbased.Options{
		FDs: []int{packets(link)}, MTU: uint32(link.MTU), EthernetHeader: true, RXChecksumOffload: true,
		Address: tcpip.LinkAddress(link.HardwareAddr),
	})
	check(err)
	all := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	sack := tcpip.TCPSACKEnabled(true)
	checkStack(all.SetTransportProtocolOption(tcp.ProtocolNumber, &sack))
	if size, err := strconv.Atoi(named["rcvbuf"]); err == nil {
		sizes := tcpip.TCPReceiveBufferSizeRangeOption{Min: size, Default: size, Max: size}
		checkStack(all.SetTransportProtocolOption(tcp.ProtocolNumber, &sizes))
		moderate := tcpip.TCPModerateReceiveBufferOption(false)
		checkStack(all.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate))
	}
	checkStack(all.CreateNIC(nic, endpoint))
	own := tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(named["address"]), PrefixLen: 24},
	}
	checkStack(all.AddProtocolAddress(nic, own, stack.AddressProperties{}))
	all.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	peer, err := net.ParseMAC(named["peer_mac"])
	check(err)
	checkStack(all.AddStaticNeighbor(nic, ipv4.ProtocolNumber, address(named["peer"]), tcpip.LinkAddress(peer)))
	return all
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	check(err)
	named := options(os.Args[2:])
	listener, err := gonet.ListenTCP(
		started(named), tcpip.FullAddress{NIC: nic, Addr: address(named["address"]), Port: uint16(port)}, ipv4.ProtocolNumber)
	check(err)
	fmt.Println("ready")
	connection, err := listener.Accept()
	check(err)
	start, total, bytes := time.Now(), 0, make([]byte, 65536)
	for {
		got, err := connection.Read(bytes)
		total += got
		if err != nil {
			break
		}
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("{\"bytes\": %d, \"seconds\": %.6f, \"mbps\": %.3f}\n", total, seconds, float64(total)*8/seconds/1e6)
	check(connection.Close())
	time.Sleep(time.Second) // the stack answers the sender's last packets
}
